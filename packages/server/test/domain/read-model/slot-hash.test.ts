import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { SlotHash } from '../../../src/domain/read-model/slot-hash.ts'

const WIDTH = 2

test('whatever is set and deleted, it finds what a Map would find', () => {
  const keyNumber = fc.integer({ min: 0, max: 60 })
  const commands = fc.array(fc.tuple(fc.constantFrom('set', 'delete'), keyNumber), {
    maxLength: 400,
  })
  fc.assert(
    fc.property(commands, (steps) => {
      // Slot i holds key i, so that the model is a set of slots.
      const column = Uint32Array.from(
        { length: 61 * WIDTH },
        (_, i) => (i >> 1) * 0x10001 + (i & 1),
      )
      const hash = new SlotHash(WIDTH, WIDTH, randomBytes)
      const model = new Set<number>()
      for (const [command, slot] of steps) {
        if (command === 'set') {
          hash.set(column, slot)
          model.add(slot)
        } else {
          hash.delete(column, slot)
          model.delete(slot)
        }
      }
      for (let slot = 0; slot <= 60; slot++) {
        const key = column.subarray(slot * WIDTH, slot * WIDTH + WIDTH)
        assert.equal(hash.find(column, key), model.has(slot) ? slot : -1)
      }
    }),
  )
})

test('a second slot with the same key takes the place of the first', () => {
  const column = Uint32Array.from([7, 7, 7, 7])
  const hash = new SlotHash(WIDTH, WIDTH, randomBytes)
  hash.set(column, 0)
  hash.set(column, 1)
  assert.equal(hash.find(column, Uint32Array.from([7, 7])), 1)
})

test('it grows past its first capacity and keeps every entry', () => {
  const count = 10_000
  const column = new Uint32Array(count * WIDTH).map((_, i) => Math.imul(i, 2654435761))
  const hash = new SlotHash(WIDTH, WIDTH, randomBytes)
  for (let slot = 0; slot < count; slot++) hash.set(column, slot)
  for (let slot = 0; slot < count; slot++) {
    assert.equal(hash.find(column, column.subarray(slot * WIDTH, slot * WIDTH + WIDTH)), slot)
  }
})
