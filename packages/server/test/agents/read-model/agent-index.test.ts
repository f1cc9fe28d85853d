import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type AgentStatus, randomTail, type Tail } from '@countersign/protocol'
import fc from 'fast-check'
import { type AgentRecord, initialProfile } from '../../../src/agents/agent-record.ts'
import { AgentIndex } from '../../../src/agents/read-model/agent-index.ts'

test('it returns the records that were inserted, profile included', () => {
  const index = new AgentIndex(10, randomBytes)
  const plain = agent({ seq: 1 })
  const dressed = agent({
    seq: 2,
    profile: { ...plain.profile, displayName: 'Ö', statusReason: 'x' },
  })
  for (const each of [plain, dressed]) index.upsert(each)
  for (const each of [plain, dressed]) {
    assert.deepEqual(index.byTail(each.tail), each)
    assert.deepEqual(index.byKey(each.publicKey), each)
  }
  assert.equal(index.byTail(randomTail(randomBytes)), null)
  assert.equal(index.byKey(randomBytes(32)), null)
})

test('an older version never replaces a newer one', () => {
  const index = new AgentIndex(10, randomBytes)
  const newer = agent({ seq: 1, version: 9, status: 'revoked' })
  index.upsert(newer)
  index.upsert({ ...newer, version: 8, status: 'active' })
  assert.equal(index.byTail(newer.tail)?.status, 'revoked')
})

test('a lookup by key prefers active, then suspended, then revoked, then the oldest claim, in any order of changes', () => {
  const statuses = fc.constantFrom<AgentStatus>('active', 'suspended', 'revoked')
  const changes = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), statuses), { maxLength: 60 })
  fc.assert(
    fc.property(changes, (steps) => {
      const index = new AgentIndex(100, randomBytes)
      const publicKey = randomBytes(32)
      const model = new Map<number, AgentRecord>()
      for (const [version, [seq, status]] of steps.entries()) {
        const next = { ...(model.get(seq) ?? agent({ seq, publicKey })), status, version }
        model.set(seq, next)
        index.upsert(next)
      }
      const [chosen] = [...model.values()].toSorted(byPriority)
      assert.equal(index.byKey(publicKey)?.tail, chosen?.tail)
    }),
  )
})

test('it stays within its limit, evicts agents that are not read, and reports that it overflowed', () => {
  const index = new AgentIndex(100, randomBytes)
  const favourite = agent({ seq: 0 })
  index.upsert(favourite)
  const others = Array.from({ length: 1000 }, (_, i) => agent({ seq: i + 1 }))
  assert.equal(index.overflowed, false)
  for (const other of others) {
    index.upsert(other)
    assert.deepEqual(index.byTail(favourite.tail), favourite)
  }
  assert.equal(index.overflowed, true)
  assert.equal(index.size, 100)
  const held = others.filter((other) => index.byTail(other.tail) !== null)
  assert.equal(held.length, 99)
  for (const other of held) assert.deepEqual(index.byTail(other.tail), other)
})

test('after a key is replaced, the old key finds only the other agents that have it', () => {
  const index = new AgentIndex(10, randomBytes)
  const first = agent({ seq: 1 })
  const second = agent({ seq: 2, publicKey: first.publicKey })
  const third = agent({ seq: 3, publicKey: first.publicKey })
  for (const each of [first, second, third]) index.upsert(each)
  const replaced = { ...first, publicKey: new Uint8Array(randomBytes(32)), version: 4 }

  index.upsert(replaced)

  assert.deepEqual(index.byKey(replaced.publicKey), replaced)
  assert.deepEqual(index.byTail(first.tail), replaced)
  assert.deepEqual(index.peek(first.tail)?.publicKey, replaced.publicKey)
  assert.deepEqual(index.byKey(first.publicKey), second, 'the next oldest claim')
  index.upsert({ ...second, publicKey: replaced.publicKey, version: 5 })
  index.upsert({ ...third, publicKey: replaced.publicKey, version: 6 })
  assert.equal(index.byKey(first.publicKey), null, 'nobody has the old key')
  assert.equal(index.byKey(replaced.publicKey)?.tail, first.tail)
  assert.equal(index.size, 3)
})

test('a stale read of an agent does not restore a replaced key', () => {
  const index = new AgentIndex(10, randomBytes)
  const before = agent({ seq: 1 })
  const after = { ...before, publicKey: new Uint8Array(randomBytes(32)), version: 2 }
  index.upsert(before)
  index.upsert(after)
  index.upsert(before)
  assert.deepEqual(index.byTail(before.tail), after)
  assert.equal(index.byKey(before.publicKey), null)
})

test('after any changes of keys and statuses, lookups find the same as a search of all agents', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
      const index = new AgentIndex(100, randomBytes)
      const model = new Map<number, AgentRecord>()
      for (const each of versionsOf(changes)) {
        index.upsert(each)
        if ((model.get(each.seq)?.version ?? 0) <= each.version) model.set(each.seq, each)
      }
      assert.equal(index.size, model.size)
      for (const each of model.values()) assert.deepEqual(index.byTail(each.tail), each)
      for (const publicKey of KEYS) {
        const holders = [...model.values()].filter((each) => each.publicKey === publicKey)
        assert.deepEqual(index.byKey(publicKey), holders.toSorted(byPriority)[0] ?? null)
      }
    }),
  )
})

test('an overflowed index has the latest version of every agent in memory', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
      const index = new AgentIndex(3, randomBytes)
      const latest = new Map<number, AgentRecord>()
      for (const each of versionsOf(changes)) {
        // The caller (CacheFiller) must hold back reads that are older than an evicted agent.
        if ((latest.get(each.seq)?.version ?? 0) > each.version) continue
        latest.set(each.seq, each)
        index.upsert(each)
        assert.deepEqual(index.byTail(each.tail), each)
      }
      assert.equal(index.size, Math.min(latest.size, 3))
      assert.equal(index.overflowed, latest.size > 3)
      for (const each of latest.values()) {
        const held = index.byTail(each.tail)
        if (held !== null) assert.deepEqual(held, each)
      }
    }),
  )
})

const TAILS = Array.from({ length: 6 }, () => randomTail(randomBytes))
const KEYS = Array.from({ length: 4 }, () => new Uint8Array(randomBytes(32)))

/** A change of one agent, or a stale read from some versions ago. */
const change = fc.record({
  seq: fc.nat(TAILS.length - 1),
  key: fc.nat(KEYS.length - 1),
  status: fc.constantFrom<AgentStatus>('active', 'suspended', 'revoked'),
  versionsLate: fc.oneof(fc.constant(0), fc.nat(10)),
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** The records that result from changes, with unique versions. */
function versionsOf(changes: readonly Change[]): AgentRecord[] {
  return changes.map(({ seq, key, status, versionsLate }, i) =>
    agent({
      seq,
      status,
      tail: TAILS[seq] as Tail,
      publicKey: KEYS[key] as Uint8Array,
      version: Math.max(1, (i - versionsLate) * 1000 + i),
    }),
  )
}

function byPriority(a: AgentRecord, b: AgentRecord): number {
  return rank(a.status) - rank(b.status) || a.seq - b.seq
}

function agent(overrides: Partial<AgentRecord>): AgentRecord {
  const claimedAt = 1_700_000_000_000 + (overrides.seq ?? 0)
  return {
    tail: randomTail(randomBytes),
    publicKey: new Uint8Array(randomBytes(32)),
    ownerId: 3,
    seq: 0,
    version: overrides.seq ?? 0,
    status: 'active',
    claimedAt,
    profile: initialProfile(claimedAt),
    ...overrides,
  }
}

function rank(status: AgentStatus): number {
  return ['active', 'suspended', 'revoked'].indexOf(status)
}
