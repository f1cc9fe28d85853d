import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isAgentEntry, randomTail } from '@countersign/protocol'
import { logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { openOperator, startTestService, testEnv } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { SPREAD_MS } from '../../src/agents/log-change.ts'
import { insertAgent } from '../../src/claims/claim-table.ts'
import { readSettings } from '../../src/config/config.ts'
import { loadPepper } from '../../src/core/crypto/secrets.ts'
import { verifyOwner } from '../../src/identity/record-verification.ts'
import { deleteAccount } from '../../src/privacy/delete-account.ts'

const AGENTS = process.env.TEST_TIER === 'quick' ? 300 : 10_000
const MINUTES = SPREAD_MS / 60_000

test('agents of one owner are not linked by the time of their entries, neither at a verification nor at the erasure', async (t) => {
  const env = await testEnv(t)
  const settings = readSettings(env)
  let now = Date.now()
  const before = await openOperator(settings, () => now)
  const owner = await before.addVerifiedOwner('somebody', 'low')
  await before.db.write(async (tx) => {
    for (let i = 0; i < AGENTS; i++) {
      const tail = randomTail(randomBytes)
      const agent = { tail, public_key: randomBytes(32), agent_id: `label-of-somebody-${i}` }
      await insertAgent(tx, {
        ...{ ...agent, seq: 1_000_000 + i, owner_id: owner, claimed_at: now, grade: 'D' },
      })
    }
  })
  await before.close()
  const service = await startTestService(t, env, () => now)
  await untilLogged(service, AGENTS + 1)
  const { db } = service.operator

  const waiting = async (type: string) => {
    const rows = await db.read.selectFrom('log_queue').selectAll().execute()
    assert.deepEqual([...new Set(rows.map((row) => row.type))], rows.length > 0 ? [type] : [])
    return rows
  }
  const spread = async (type: string) => {
    const rows = await waiting(type)
    const minutes = rows.map(({ not_before }) => Math.floor((not_before - now - 1) / 60_000))
    assert.deepEqual(
      [...new Set(minutes)].toSorted((a, b) => a - b),
      Array.from({ length: MINUTES }, (_, i) => i),
    )
    return rows.length
  }
  const entriesNow = async () => {
    const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
    return entries.filter(isAgentEntry)
  }
  const claimOrder = (await entriesNow()).map(({ did }) => did)

  const deps = { db, now: () => now, pepper: loadPepper(settings.dataDir) }
  const subject = { provider: 'in-person', issuer: 'host', subject: String(owner) }
  await verifyOwner(deps, owner, { ...subject, assurance: 'high', expiresAt: null })
  await untilTicked(service, async () => (await waiting('grade')).length === AGENTS)
  assert.equal(await spread('grade'), AGENTS)
  now += SPREAD_MS + 1
  await untilLogged(service, 2 * AGENTS + 1)
  const graded = (await entriesNow()).slice(AGENTS)
  assert.deepEqual([...new Set(graded.map(({ type }) => type))], ['grade'])
  assertSpread(graded, claimOrder)

  await deleteAccount({ db, now: () => now }, owner, 'somebody')
  assert.equal(await spread('status'), AGENTS)
  assert.ok(!(await textOfTables(settings)).includes('label-of-somebody'))
  now += SPREAD_MS + 1
  await untilLogged(service, 3 * AGENTS + 1)
  const revoked = (await entriesNow()).slice(2 * AGENTS)
  assert.deepEqual([...new Set(revoked.map(({ type }) => type))], ['status'])
  assertSpread(revoked, claimOrder)
  const open = await db.read
    .selectFrom('log_entries')
    .select('tail')
    .where('salt', 'is not', null)
    .execute()
  assert.deepEqual(open, [])
  assert.deepEqual(await waiting('none'), [])
})

/** Neither the time nor the order tells that the entries belong together. */
function assertSpread(
  entries: readonly { readonly at: number; readonly did: string }[],
  claimed: readonly string[],
) {
  assert.equal(entries.length, AGENTS)
  const perSecond = Map.groupBy(entries, ({ at }) => Math.floor(at / 1000))
  const most = Math.max(...[...perSecond.values()].map(({ length }) => length))
  assert.ok(most < AGENTS / 10, `${most} entries of a second`)
  assert.notDeepEqual(
    entries.map(({ did }) => did),
    claimed,
  )
}
