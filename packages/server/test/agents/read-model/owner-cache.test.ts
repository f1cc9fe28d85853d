import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ASSURANCES, strongestVerification, type VerificationEvidence } from '@countersign/protocol'
import fc from 'fast-check'
import type { OwnerRecord } from '../../../src/agents/agent-record.ts'
import { OwnerCache } from '../../../src/agents/read-model/owner-cache.ts'

const PLAIN = { noNullPrototype: true }

const verification = fc.record<VerificationEvidence>(
  {
    provider: fc.constantFrom('in-person', 'github', 'acme'),
    assurance: fc.constantFrom(...ASSURANCES),
    verifiedAt: fc.integer({ min: 0, max: 2e12 }),
    expiresAt: fc.option(fc.integer({ min: 0, max: 2e12 })),
  },
  PLAIN,
)

const owner = (id: fc.Arbitrary<number>): fc.Arbitrary<OwnerRecord> =>
  fc
    .record(
      {
        id,
        username: fc.string(),
        displayName: fc.string({ unit: 'grapheme' }),
        deleted: fc.boolean(),
        isOrganisation: fc.boolean(),
        verifications: fc.array(verification, { maxLength: 3 }),
        nameChangedAt: fc.option(fc.integer({ min: 0, max: 2e12 })),
        publishedNames: fc
          .uniqueArray(fc.tuple(fc.constantFrom('acme', 'in-person'), fc.string()), {
            selector: ([provider]) => provider,
          })
          .map((names) => new Map(names)),
      },
      PLAIN,
    )
    .map((each) => ({ ...each, strongest: strongestVerification(each.verifications, -1) }))

test('within the limit every owner has the last value set, as a copy and as a view', () => {
  fc.assert(
    fc.property(fc.array(owner(fc.integer({ min: 1, max: 3000 }))), (owners) => {
      const cache = new OwnerCache(3001)
      for (const each of owners) cache.set(each)
      const last = new Map(owners.map((each) => [each.id, each]))
      for (const [id, expected] of last) {
        assert.deepEqual(cache.get(id), expected)
        const view = cache.peek(id) as OwnerRecord
        const { username, displayName, deleted, verifications, strongest } = view
        const { isOrganisation, nameChangedAt, publishedNames } = view
        const names = { username, displayName, nameChangedAt, publishedNames }
        const flags = { deleted, isOrganisation }
        assert.deepEqual({ id, ...names, ...flags, verifications, strongest }, cache.get(id))
      }
      for (let id = 1; id <= 3000; id += 97) {
        if (!last.has(id)) assert.equal(cache.get(id), undefined)
      }
    }),
  )
})

test('above the limit owners evict each other, and none is mistaken for another', () => {
  fc.assert(
    fc.property(fc.array(owner(fc.integer({ min: 1, max: 20 })), { minLength: 5 }), (owners) => {
      const cache = new OwnerCache(3)
      const last = new Map<number, OwnerRecord>()
      for (const each of owners) {
        cache.set(each)
        last.set(each.id, each)
        assert.deepEqual(cache.get(each.id), each)
        const held = [...last.keys()].filter((id) => cache.get(id) !== undefined)
        assert.ok(held.length <= 3)
        for (const id of held) assert.deepEqual(cache.get(id), last.get(id))
      }
    }),
  )
})

test('a copy does not change with the cache', () => {
  const cache = new OwnerCache(10)
  const before: OwnerRecord = {
    id: 1,
    username: 'ada',
    displayName: 'Ada',
    deleted: false,
    isOrganisation: false,
    verifications: [],
    strongest: null,
    nameChangedAt: null,
    publishedNames: new Map(),
  }
  cache.set(before)
  const copy = cache.get(1)
  cache.set({ ...before, username: 'eve' })
  assert.deepEqual(copy, before)
  assert.equal(cache.peek(1)?.username, 'eve')
})
