import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledQuery, type KyselyPlugin, sql } from 'kysely'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { withRaw } from '../../../../test/support/raw-database.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { deleteEndedSessions, deleteExpiredFlows } from '../../src/accounts/owners/session-table.ts'
import { keyUseColumns } from '../../src/agents/keys/key-use.ts'
import type { Db, Tx } from '../../src/database/database.ts'
import { entriesOf } from '../../src/log/log-table.ts'
import { deleteOwnerRecords, readOwnerRecords } from '../../src/service/privacy/owner-data-table.ts'

const ROWS = 20_000
/** Later than the expiry of every row from `fill`. */
const LATER = 10 * ROWS

test("sign-in, export and deletion scan no large table of other owners' rows", async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const other = await service.operator.addVerifiedOwner('grace')
  await fill(service, other)
  const { db } = service.operator
  const works: Readonly<Record<string, (tx: Tx) => Promise<unknown>>> = {
    'expired flows': (tx) => deleteExpiredFlows(tx, 1),
    'ended sessions': (tx) => deleteEndedSessions(tx, 1, 1),
    export: (tx) => readOwnerRecords(tx.db, owner),
    deletion: (tx) => deleteOwnerRecords(tx, owner),
  }
  for (const [name, work] of Object.entries(works)) {
    const queries: CompiledQuery[] = []
    await db.write((tx) => work({ ...tx, db: tx.db.withPlugin(recording(tx.db, queries)) }))
    assert.ok(queries.length > 0, name)
    for (const query of queries) {
      const plan = await planOf(db.read, query)
      assert.doesNotMatch(plan, /Seq Scan on (flows|sessions|claim_tokens)/, `${name}: ${plan}`)
      assert.doesNotMatch(plan, /SCAN (flows|sessions|claim_tokens)\b/, `${name}: ${plan}`)
    }
  }
})

test('the entries of one agent are read by its index, not from the whole log', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilLogged(service, 1)
  await withRaw(service.settings, (raw) =>
    raw.exec(`insert into log_entries (epoch, position, tail, entry)
      ${NUMBERS} select 1, i, 'tail' || i, '{}' from n;
      ${ON_POSTGRES ? 'analyze log_entries' : ''}`),
  )
  const { db } = service.operator
  const queries: CompiledQuery[] = []
  const of = { epoch: 1, tail: did.slice(-24), from: 0, to: ROWS }
  const entries = await entriesOf(db.read.withPlugin(recording(db.read, queries)), of, 10)
  assert.deepEqual(
    entries.map(({ position }) => position),
    [0],
  )
  const plans = await Promise.all(queries.map((query) => planOf(db.read, query)))
  assert.equal(plans.length, 2)
  assert.match(plans[0] ?? '', /log_entries_claim/)
  assert.match(plans[1] ?? '', /log_entries_agent/)
})

test('what keeps a key from being claimed is read by indexes of keys', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = (text: string) => (ON_POSTGRES ? `sha256((${text})::bytea)` : `cast(${text} as blob)`)
  await withRaw(service.settings, (raw) =>
    raw.exec(`insert into agents (seq, tail, public_key, key_thumbprint, agent_id, owner_id, status, status_set_by,
        pair_slot, claimed_at, status_changed_at, updated_at, version, grade)
        ${NUMBERS} select ${ROWS} + i, 'tail' || i, ${key("'key' || i")},
          ${key("'thumbprint' || i")}, 'agent', ${owner}, 'active', 'owner',
          0, 1, 1, 1, 1, 'C' from n;
      insert into agent_keys (tail, sequence, public_key, state, valid_from, valid_until)
        ${NUMBERS} select 'tail' || i, 1, ${key("'former' || i")}, 'retired', 1, 2 from n;
      ${ON_POSTGRES ? 'analyze agents; analyze agent_keys' : ''}`),
  )
  const { db } = service.operator
  const wanted = { key: Buffer.from('key'), label: 'agent', owner, tail: 'tail1', at: 1 }
  const query = sql`select ${keyUseColumns(wanted)}`.compile(db.read)
  const plan = await planOf(db.read, query)
  assert.doesNotMatch(plan, /Seq Scan on (agents|agent_keys)/, plan)
  assert.doesNotMatch(plan, /SCAN (agents|agent_keys)\b|PRIMARY KEY/, plan)
  for (const index of ON_POSTGRES ? ['agents_pair', 'agent_keys_public_key'] : ['public_key=?'])
    assert.ok(plan.includes(index), plan)
})

const NUMBERS = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})`

/** Inserts flows, sessions and tokens of one owner, none of them expired. */
function fill({ settings }: TestService, owner: number): Promise<void> {
  const hash = ON_POSTGRES ? 'sha256(i::text::bytea)' : 'cast(i as blob)'
  return withRaw(settings, (raw) =>
    raw.exec(`insert into flows (hash, kind, state, expires_at)
        ${NUMBERS} select ${hash}, 'k', '{}', ${LATER} + i from n;
      insert into sessions
        (hash, id, owner_id, method, browser, signed_in_at, last_seen_at, expires_at)
        ${NUMBERS} select ${hash}, 's' || i, ${owner}, 'passkey', 'b', 1, ${LATER} + i, ${LATER} + i from n;
      insert into claim_tokens (hash, owner_id, created_at, expires_at, used_at)
        ${NUMBERS} select ${hash}, ${owner}, 1, ${LATER}, 2 from n;
      analyze;`),
  )
}

/** Records the compiled statements that are executed. */
function recording(db: Db, queries: CompiledQuery[]): KyselyPlugin {
  return {
    transformQuery({ node, queryId }) {
      queries.push(db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  }
}

async function planOf(db: Db, query: CompiledQuery): Promise<string> {
  const explain = ON_POSTGRES ? 'explain' : 'explain query plan'
  const raw = CompiledQuery.raw(`${explain} ${query.sql}`, [...query.parameters])
  const { rows } = await db.executeQuery(raw)
  return JSON.stringify(rows)
}
