import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type AgentStatus, randomTail, type Tail } from '@countersign/protocol'
import fc from 'fast-check'
import { type AgentRecord, initialProfile } from '../../../src/agents/agent-record.ts'
import { AgentIndex } from '../../../src/agents/read-model/agent-index.ts'

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
      for (const each of model.values()) {
        assert.deepEqual(index.byTail(each.tail), each)
        assert.deepEqual(index.peek(each.tail)?.publicKey, each.publicKey)
      }
      assert.equal(index.byTail(randomTail(randomBytes)), null)
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
