import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Crop,
  centredCrop,
  maxZoom,
  moveCrop,
  type Size,
  zoomCrop,
  zoomOf,
} from '../packages/dashboard/src/pages/agent/crop.ts'

const side = fc.integer({ min: 1, max: 12_000 })
const picture = fc.record({ width: side, height: side })
const far = fc.double({ min: -30_000, max: 30_000, noNaN: true })
const step = fc.oneof(
  fc.record({ right: far, down: far }),
  fc.record({ zoom: fc.double({ min: 0, max: 100, noNaN: true }) }),
)

/** Asserts a valid `crop=x,y,size`: whole pixels within the picture. */
function assertTaken({ width, height }: Size, { x, y, size }: Crop): void {
  for (const each of [x, y, size]) assert.ok(Number.isInteger(each) && each >= 0)
  assert.ok(size >= 1 && x + size <= width && y + size <= height)
}

test('the crop square stays within the picture, however it is dragged and zoomed', () => {
  fc.assert(
    fc.property(picture, fc.array(step, { maxLength: 20 }), (extent, steps) => {
      let crop = centredCrop(extent)
      assertTaken(extent, crop)
      for (const each of steps) {
        crop =
          'zoom' in each
            ? zoomCrop(extent, crop, each.zoom)
            : moveCrop(extent, crop, each.right, each.down)
        assertTaken(extent, crop)
        assert.ok(zoomOf(extent, crop) >= 1)
      }
    }),
  )
})

test('the crop square starts centered at full size, and zooming keeps its center where possible', () => {
  const extent = { width: 1200, height: 800 }
  assert.deepEqual(centredCrop(extent), { x: 200, y: 0, size: 800 })
  assert.deepEqual(zoomCrop(extent, centredCrop(extent), 2), { x: 400, y: 200, size: 400 })
  assert.equal(zoomCrop(extent, centredCrop(extent), 100).size, 800 / maxZoom(extent))
  assert.equal(maxZoom({ width: 100, height: 4000 }), 1)
})
