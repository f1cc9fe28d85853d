import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pictures } from '../../src/adapters/picture.ts'
import { BLUE, halves, RED } from '../owners/agents/pictures.ts'

test('eight pictures may wait; whoever comes then is turned away, until there is room again', async () => {
  const pictures = new Pictures()
  const png = await halves(8, 8, RED, BLUE).png().toBuffer()
  const waiting = Array.from({ length: 8 }, () => pictures.square(png, null))
  await assert.rejects(pictures.square(png, null), { name: 'PictureRefused', fault: 'busy' })
  const made = await Promise.all(waiting)
  assert.ok(made.every((each) => Buffer.from(each).equals(made[0] as Uint8Array)))
  await pictures.square(png, null)
})

test('a picture that is refused makes room like any other', async () => {
  const pictures = new Pictures()
  for (let i = 0; i < 20; i++) {
    await assert.rejects(pictures.square(Buffer.from('no picture'), null), {
      fault: 'not-a-picture',
    })
  }
  await pictures.square(await halves(8, 8, RED, BLUE).png().toBuffer(), null)
})
