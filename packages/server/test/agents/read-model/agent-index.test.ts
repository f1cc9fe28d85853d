import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type AgentStatus, randomTail } from '@countersign/protocol'
import fc from 'fast-check'
import { type AgentRecord, plainProfile } from '../../../src/agents/agent-record.ts'
import { AgentIndex } from '../../../src/agents/read-model/agent-index.ts'

test('what goes in comes out, the profile included', () => {
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

test('an older version never displaces a newer one', () => {
  const index = new AgentIndex(10, randomBytes)
  const newer = agent({ seq: 1, version: 9, status: 'revoked' })
  index.upsert(newer)
  index.upsert({ ...newer, version: 8, status: 'active' })
  assert.equal(index.byTail(newer.tail)?.status, 'revoked')
})

test('of one key: active before suspended before revoked, then the oldest claim, whatever the order of changes', () => {
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
      const [chosen] = [...model.values()].sort(
        (a, b) => rank(a.status) - rank(b.status) || a.seq - b.seq,
      )
      assert.equal(index.byKey(publicKey)?.tail, chosen?.tail)
    }),
  )
})

test('it holds no more than its limit, keeps what is read, and says that it left something out', () => {
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
    profile: plainProfile(claimedAt),
    ...overrides,
  }
}

function rank(status: AgentStatus): number {
  return ['active', 'suspended', 'revoked'].indexOf(status)
}
