import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, inflateSync } from 'node:zlib'
import { type StatusValue, setStatusAt, statusAt } from '../src/index.ts'

/** draft-ietf-oauth-status-list section 4.1, the example of 2 bits, and its encoding in section 4.2 */
const EXAMPLE = [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3] as const
const EXAMPLE_LST = 'eNo76fITAAPfAgc'

/** The test vector of 2 bits at the end of the draft: 2^20 entries, and those that are not 0. */
const LONG: Readonly<Record<number, number>> = {
  0: 1,
  1993: 2,
  25460: 1,
  159495: 3,
  495669: 1,
  554353: 1,
  645645: 2,
  723232: 1,
  854545: 1,
  934534: 2,
  1000345: 3,
}
const LONG_LST =
  'eNrt2zENACEQAEEuoaBABP5VIO01fCjIHTMStt9ovGVIAAAAAABAbiEBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEB5WwIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAID0ugQAAAAAAAAAAAAAAAAAQG12SgAAAAAAAAAAAAAAAAAAAAAAAAAAAOCSIQEAAAAAAAAAAAAAAAAAAAAAAAD8ExIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwJEuAQAAAAAAAAAAAAAAAAAAAAAAAMB9SwIAAAAAAAAAAAAAAAAAAACoYUoAAAAAAAAAAAAAAEBqH81gAQw'

function inflated(lst: string): Uint8Array {
  return inflateSync(Buffer.from(lst, 'base64url'))
}

test('entries are read and written as in the example of the draft', () => {
  const list = new Uint8Array(3)
  for (const [index, status] of EXAMPLE.entries()) setStatusAt(list, index, status as StatusValue)
  assert.deepEqual([...list], [0xc9, 0x44, 0xf9])
  assert.equal(deflateSync(list, { level: 9 }).toString('base64url'), EXAMPLE_LST)
  const read = inflated(EXAMPLE_LST)
  assert.deepEqual(
    EXAMPLE.map((_, index) => statusAt(read, index)),
    [...EXAMPLE],
  )
})

test('entries are read as in the long test vector of the draft', () => {
  const list = inflated(LONG_LST)
  assert.equal(list.length * 4, 2 ** 20)
  const found: Record<number, number> = {}
  for (let index = 0; index < 2 ** 20; index++) {
    const status = statusAt(list, index)
    if (status !== 0) found[index] = status as number
  }
  assert.deepEqual(found, LONG)
})

test('an entry is overwritten without its neighbours; there is none outside of the list', () => {
  const list = new Uint8Array(2).fill(0b11_01_10_00)
  setStatusAt(list, 2, 2)
  assert.deepEqual([...list], [0b11_10_10_00, 0b11_01_10_00])
  for (const index of [-1, 8, 0.5, 2 ** 32, 2 ** 34, Number.MAX_SAFE_INTEGER, Number.NaN]) {
    assert.equal(statusAt(list, index), null, String(index))
    assert.throws(() => setStatusAt(list, index, 1), RangeError, String(index))
  }
  assert.deepEqual([...list], [0b11_10_10_00, 0b11_01_10_00], 'unchanged')
})
