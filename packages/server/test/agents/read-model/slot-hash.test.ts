import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { SlotHash } from '../../../src/agents/read-model/slot-hash.ts'

const WIDTH = 2

test('after any sets and deletes it finds the same as a Map', () => {
  const keyNumber = fc.integer({ min: 0, max: 60 })
  const commands = fc.array(fc.tuple(fc.constantFrom('set', 'delete'), keyNumber), {
    maxLength: 400,
  })
  fc.assert(
    fc.property(commands, (steps) => {
      // Slot i has key i, so that the reference model is a set of slots.
      const column = Uint32Array.from(
        { length: 61 * WIDTH },
        (_, i) => (i >> 1) * 0x10001 + (i & 1),
      )
      const hash = new SlotHash(column, WIDTH, WIDTH, randomBytes)
      const model = new Set<number>()
      for (const [command, slot] of steps) {
        if (command === 'set') {
          assert.equal(hash.set(slot), model.has(slot) ? slot : -1)
          model.add(slot)
        } else {
          hash.delete(slot)
          model.delete(slot)
        }
      }
      for (let slot = 0; slot <= 60; slot++) {
        const key = column.subarray(slot * WIDTH, slot * WIDTH + WIDTH)
        assert.equal(hash.find(key), model.has(slot) ? slot : -1)
      }
    }),
  )
})

test('a second slot with the same key replaces the first', () => {
  const column = Uint32Array.from([7, 7, 7, 7])
  const hash = new SlotHash(column, WIDTH, WIDTH, randomBytes)
  assert.equal(hash.set(0), -1)
  assert.equal(hash.set(1), 0)
  assert.equal(hash.find(Uint32Array.from([0, 7, 7]), 1), 1)
  hash.delete(0)
  assert.equal(hash.find(Uint32Array.from([7, 7])), 1, 'deleting a replaced slot changes nothing')
})

test('it grows past its first capacity and keeps every entry', () => {
  const count = 10_000
  const column = new Uint32Array(count * WIDTH).map((_, i) => Math.imul(i, 2654435761))
  const hash = new SlotHash(column, WIDTH, WIDTH, randomBytes)
  const slots = Array.from({ length: count }, (_, slot) => slot)
  for (const slot of slots) hash.set(slot)
  hash.reserve(count * 3)
  for (const slot of slots) assert.equal(hash.find(column, slot * WIDTH), slot)
})

test('deleting from a full table, also across its end, hides no other entry', () => {
  const count = 768
  const column = new Uint32Array(count * WIDTH).map((_, i) => Math.imul(i, 2654435761))
  for (let round = 0; round < 20; round++) {
    const hash = new SlotHash(column, WIDTH, WIDTH, randomBytes)
    for (let slot = 0; slot < count; slot++) hash.set(slot)
    for (let slot = 0; slot < count; slot += 3) hash.delete(slot)
    for (let slot = 0; slot < count; slot++) {
      assert.equal(hash.find(column, slot * WIDTH), slot % 3 === 0 ? -1 : slot)
    }
  }
})

test('100,000 replaced keys leave no entries, no memory and no longer searches behind', () => {
  const count = 700
  const column = new Uint32Array(count * WIDTH).map((_, i) => Math.imul(i, 2654435761))
  const hash = new SlotHash(column, WIDTH, WIDTH, randomBytes)
  for (let slot = 0; slot < count; slot++) hash.set(slot)
  const { capacity } = hash
  const former = new Uint32Array(WIDTH)
  for (let i = 1; i <= 100_000; i++) {
    const slot = i % count
    former.set(column.subarray(slot * WIDTH, (slot + 1) * WIDTH))
    hash.delete(slot)
    column[slot * WIDTH] = i
    column[slot * WIDTH + 1] = ~i
    hash.set(slot)
    if (i % 1000 === 0) assert.equal(hash.find(former), -1)
  }
  assert.deepEqual([hash.size, hash.capacity], [count, capacity])
  for (let slot = 0; slot < count; slot++) assert.equal(hash.find(column, slot * WIDTH), slot)
})
