import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentEntry, isAgentEntry } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { post } from '../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { SPREAD_MS } from '../../src/agents/changes/change-agent.ts'

/** Members that can have the same value by chance alone for agents who share nothing but a service. */
const COMMON = new Set(
  'v type by status reason grade keySequence kind tier service issuedAt'.split(' '),
)

/** Values that entries of two agents share, apart from those that many agents have. */
function linksBetween(entries: readonly AgentEntry[]): string[] {
  const agentsOf = new Map<unknown, Set<string>>()
  for (const entry of entries) {
    for (const [name, value] of Object.entries(entry)) {
      if (COMMON.has(name) || value === null) continue
      agentsOf.set(value, (agentsOf.get(value) ?? new Set()).add(entry.did))
    }
  }
  return [...agentsOf].filter(([, dids]) => dids.size > 1).map(([value]) => String(value))
}

async function agentEntries({ url }: TestService) {
  const { entries, raw } = await readLog(`${url}/log`, await logKey(url))
  return { entries: entries.filter(isAgentEntry), raw }
}

async function proveRuntime(service: TestService, did: string, key: TestKey): Promise<void> {
  const asked = await post(service, `/api/agents/${did}/runtime/challenge`, {})
  const challenge = jsonOf(asked).challenge as string
  const body = { challenge, signature: key.sign(challenge) }
  const answer = await post(service, `/api/agents/${did}/runtime`, body)
  assert.equal(answer.status, 200, answer.text)
}

test('erasing an owner leaves entries that nobody can open and that link no agents; only revocations are added, each at a time of its own', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, { KEY_REUSE: 'owner' }, () => now)
  const { db, addVerifiedOwner } = service.operator
  const ownerId = await addVerifiedOwner('somebody-to-forget')
  const stranger = await addVerifiedOwner('somebody-else')
  const keys = [newKey(), newKey(), newKey()] as const
  const dids: string[] = []
  for (const [i, key] of keys.entries()) {
    now += 1000
    dids.push(await claimAgent(service, ownerId, key, `label-to-forget-${i}`))
  }
  now += 1000
  const kept = await claimAgent(service, stranger, newKey(), 'label-to-keep')
  const [first] = dids as [string]
  const owner = await signIn(service, ownerId, now)
  const place = { kind: 'runtime', handleOrDomain: 'host-to-forget' }
  const added = await owner.post(`/api/account/agents/${first}/channels`, place)
  assert.equal(added.status, 201, added.text)
  now += 1000
  await proveRuntime(service, first, keys[0])
  // Four claims, a channel and its grade.
  await untilLogged(service, 6)
  const before = await agentEntries(service)
  const isOwn = ({ did }: AgentEntry) => dids.includes(did)
  assert.deepEqual(linksBetween(before.entries), [])
  const rows = await db.read.selectFrom('log_entries').selectAll().execute()
  const salts = rows.flatMap(({ salt, tail }) =>
    salt !== null && !kept.endsWith(tail ?? '') ? [Buffer.from(salt).toString('latin1')] : [],
  )
  assert.equal(salts.length, 5)
  const traces = [...salts, 'to-forget']
  const full = await textOfTables(service.settings)
  for (const trace of traces) assert.ok(full.includes(trace))

  now += 1000
  const erased = await owner.post('/api/account/deletion', { username: 'somebody-to-forget' })
  assert.equal(erased.status, 200, erased.text)

  const text = await textOfTables(service.settings)
  for (const trace of traces) assert.ok(!text.includes(trace))
  assert.ok(text.includes('label-to-keep'), 'the openings of others stay')
  const queue = await db.read.selectFrom('log_queue').selectAll().execute()
  assert.deepEqual(
    queue.map(({ tail, type, evidence, owner_id }) => [tail, type, evidence, owner_id]).toSorted(),
    dids.map((did) => [did.slice(-24), 'status', null, null]).toSorted(),
  )
  for (const { not_before } of queue)
    assert.ok(not_before > now && not_before <= now + SPREAD_MS.day)
  assert.deepEqual((await agentEntries(service)).raw, before.raw)

  now += SPREAD_MS.day + 1
  await untilLogged(service, 9)
  const after = await agentEntries(service)
  assert.deepEqual(after.raw.slice(0, 6), before.raw, 'the log forgets nothing')
  const revoked = after.entries.slice(6)
  assert.ok(revoked.every(isOwn))
  for (const { type, by, ...entry } of revoked) {
    assert.ok(type === 'status' && by === 'owner' && 'reason' in entry)
    assert.deepEqual([entry.status, entry.reason], ['revoked', 'owner_deleted'])
  }
  // The time of a revocation is random: `privacy.test.ts` shows how.
  assert.deepEqual(linksBetween(after.entries.map((entry, i) => ({ ...entry, at: i }))), [])
  const left = await db.read.selectFrom('log_entries').selectAll().execute()
  assert.deepEqual(
    left.filter(({ salt, evidence }) => salt !== null || evidence !== null).map(({ tail }) => tail),
    [kept.slice(-24)],
  )

  // The control: agents who share a key are linked by it, and the same comparison finds that.
  const shared = newKey()
  for (const label of ['one', 'two']) {
    now += 1000
    await claimAgent(service, stranger, shared, label)
  }
  await untilLogged(service, 11)
  const { entries } = await agentEntries(service)
  assert.deepEqual(linksBetween(entries.slice(9)), [entries[9]?.key])
})
