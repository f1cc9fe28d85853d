import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { randomTail, type Tail } from '@countersign/protocol'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf } from '../../../../../test/support/raw-database.ts'
import { type Operator, openOperator, testEnv } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import type { AgentRecord } from '../../../src/agents/agent-record.ts'
import { preferredTailOfKey } from '../../../src/agents/agent-table.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'
import { AgentIndex } from '../../../src/agents/read-model/agent-index.ts'
import {
  type AgentsPage,
  agentPages,
  agentPagesOfFile,
} from '../../../src/agents/read-model/agent-pages.ts'
import { AgentReadModel } from '../../../src/agents/read-model/agent-read-model.ts'
import { loadAll, MIN_FOR_THREAD } from '../../../src/agents/read-model/load-agents.ts'
import { OwnerCache } from '../../../src/agents/read-model/owner-cache.ts'
import { loadOwner, loadRecord, loadRecords } from '../../../src/agents/read-model/rows.ts'
import { readSettings } from '../../../src/base/config.ts'
import type { AgentRow } from '../../../src/database/database.ts'
import { Gate, withResultHook } from './support.ts'

/** A full page and a partial one. */
const AGENTS = 4100
const OWNERS = 7

test('bulk loading gives the same records as single reads: modified agents, channels, shared keys, owners', async (t) => {
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  const rows = await populate(operator)
  const agents = new AgentIndex(10_000, randomBytes)
  const owners = new OwnerCache(10_000)
  const { read } = operator.db
  assert.equal(
    await loadAll({ db: read, file: null }, agents, 10_000, (owner) => owners.set(owner)),
    true,
  )

  assert.equal(agents.size, AGENTS)
  for (const row of rows) {
    const agent = agents.byTail(row.tail as never)
    assert.deepEqual(agent, await loadRecord(read, row))
    assert.equal(
      agents.byKey(row.public_key)?.tail,
      await preferredTailOfKey(read, row.public_key),
      'the preferred agent of the key',
    )
  }
  for (let id = 1; id <= OWNERS; id++) assert.deepEqual(owners.get(id), await loadOwner(read, id))
})

const all = (pages: AsyncIterable<AgentsPage>) => Readable.from(pages).toArray()

test('another thread reads the same pages of a file', SQLITE_ONLY, async (t) => {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  await populate(operator)
  await using threads = new AsyncDisposableStack()
  const pages = await all(agentPagesOfFile(fileOf(settings), threads))
  // As a thread sends them.
  assert.deepEqual(pages, structuredClone(await all(agentPages(operator.db.read))))
  assert.equal(pages.length, 2)
  await assert.rejects(all(agentPagesOfFile(`${fileOf(settings)}-missing`, threads)))
})

test(
  'what changes while a thread reads the agents is in memory once they are loaded',
  SQLITE_ONLY,
  async (t) => {
    const owners = new Gate(t)
    const settings = readSettings(await testEnv(t))
    const operator = await openOperator(settings)
    t.after(() => operator.close())
    const { db } = operator
    const rows = await populate(operator, MIN_FOR_THREAD)
    const active = rows.filter(({ status }) => status === 'active').map(({ tail }) => tail as Tail)
    const changed = [active[0], active[active.length >> 1], active.at(-1)] as Tail[]
    // The rows have larger numbers than the events of this database.
    await db.write((tx) =>
      tx.db.updateTable('agents').set({ version: 0 }).where('tail', 'in', changed).execute(),
    )
    const read = withResultHook(db.read, (row) => ('username' in row ? owners.pass() : undefined))
    const { pointReads, eventReader } = db
    const deps = { read, pointReads, eventReader }
    const file = fileOf(settings)
    const readModel = new AgentReadModel(deps, MIN_FOR_THREAD, randomBytes, { file })
    await readModel.start()
    let isRead = false
    process.once('worker', (thread: Worker) => {
      thread.on('message', (page: AgentsPage | null) => (isRead ||= page === null))
    })
    const loading = readModel.load()
    await owners.reached
    // The thread reads ahead, so all of its pages are older than the changes.
    await until(async () => isRead)
    for (const tail of changed) {
      await changeStatus({ db, now: Date.now }, { tail, to: 'revoked', reason: null, by: 'owner' })
    }
    owners.open()
    await loading
    assert.ok(readModel.isComplete)
    for (const tail of changed) assert.equal(readModel.inMemory(tail)?.agent.status, 'revoked')
  },
)

test('what is in memory is kept, since events may be newer than a page', async (t) => {
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  const rows = await populate(operator, 40)
  const { read } = operator.db
  const agents = new AgentIndex(40, randomBytes)
  const records = await loadRecords(
    read,
    rows.map(({ tail }) => tail),
  )
  const newer = records.map(
    (each): AgentRecord => ({ ...each, version: each.version + 9, status: 'revoked' }),
  )
  for (const each of newer) agents.upsert(each)
  assert.equal(await loadAll({ db: read, file: null }, agents, 40, () => undefined), true)
  for (const each of newer) assert.deepEqual(agents.byTail(each.tail), each)
})

test('nothing is loaded if not everything fits', async (t) => {
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  await populate(operator, 20)
  const agents = new AgentIndex(19, randomBytes)
  assert.equal(
    await loadAll({ db: operator.db.read, file: null }, agents, 19, () => assert.fail()),
    false,
  )
  assert.equal(agents.size, 0)
})

/** @returns the rows of the agents, in the order of their claims */
async function populate({ db, addVerifiedOwner }: Operator, count = AGENTS): Promise<AgentRow[]> {
  for (let i = 0; i < OWNERS; i++) await addVerifiedOwner(`owner-${i}-of-some`)
  const rows = Array.from({ length: count }, (_, i) => agentRow(i))
  for (let i = 2; i < count; i += 1000) {
    const { public_key } = rows[i] as AgentRow
    rows[i - 2] = { ...(rows[i - 2] as AgentRow), public_key, agent_id: 'the same key' }
  }
  await db.write(async (tx) => {
    for (let i = 0; i < count; i += 500) {
      const some = rows.slice(i, i + 500)
      await tx.db.insertInto('agents').values(some).execute()
    }
    for (let i = 0; i < count; i += 9) {
      for (const kind of i % 2 === 0 ? ['domain'] : ['domain', 'mastodon']) {
        const place = { kind, handle_or_domain: `${i}.example`, tier: 2, verified_at: 1e12 - i }
        await insertProvenChannel(tx, (rows[i] as AgentRow).tail, place as never)
      }
    }
    await verify(tx, 1, 'second', { assurance: 'high', expires_at: 1_900_000_000_000 })
    await verify(tx, 2, 'second', { assurance: 'low', expires_at: null })
    await tx.db.deleteFrom('identity_verifications').where('owner_id', '=', 3).execute()
    await tx.db.updateTable('owners').set({ deleted_at: 5 }).where('id', '=', 4).execute()
    await tx.db.updateTable('owners').set({ display_name: 'Ö\n😀' }).where('id', '=', 5).execute()
  })
  return rows
}

function verify(
  tx: Parameters<Parameters<Operator['db']['write']>[0]>[0],
  owner_id: number,
  provider: string,
  { assurance, expires_at }: { assurance: 'low' | 'high'; expires_at: number | null },
) {
  const verified_at = 1_700_000_000_000
  const subject = { subject_hash: new Uint8Array(randomBytes(32)), pepper_id: 'x', country: null }
  return tx.db
    .insertInto('identity_verifications')
    .values({ owner_id, provider, assurance, verified_at, expires_at, ...subject })
    .execute()
}

/** The modifications of an agent, alone and in combination. */
function agentRow(i: number): AgentRow {
  const seq = 100_000_000_000 + 3 * i
  const claimed_at = 1_700_000_000_000 + 7 * i
  const isRevoked = i % 11 === 0
  return {
    seq,
    tail: randomTail(randomBytes),
    public_key: new Uint8Array(randomBytes(32)),
    key_sequence: i % 37 === 0 ? 2 : 1,
    key_changed_by: null,
    key_changed_at: i % 37 === 0 ? claimed_at + 3 : null,
    key_thumbprint: new Uint8Array(randomBytes(32)),
    agent_id: 'main',
    owner_id: 1 + (i % OWNERS),
    status: isRevoked ? 'revoked' : i % 13 === 0 ? 'suspended' : 'active',
    status_reason: i % 22 === 0 ? 'under_review' : null,
    status_set_by: 'owner',
    pair_slot: isRevoked ? seq : 0,
    renounce_final_at: null,
    claimed_at,
    status_changed_at: claimed_at + (i % 13 === 0 ? 1 : 0),
    status_time: i % 26 === 0 ? 'day' : 'exact',
    updated_at: claimed_at + (i % 17 === 0 ? 2 : 0),
    version: seq + (i % 5),
    username: i % 19 === 0 ? `agent-${i}` : null,
    display_name: i % 23 === 0 ? 'Zoë' : null,
    description: i % 29 === 0 ? 'x' : null,
    username_skeleton: null,
    avatar: i % 31 === 0 ? 'a' : null,
    directory_proof: i % 41 === 0 ? '{"keyid":"k","expires":1}' : null,
    grade: 'C',
    responsible: null,
    owner_changed_at: null,
    delegation_depth: i % 43 === 0 ? 3 : 0,
    approvals: 0,
  }
}
