import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type AgentEntry, isAgentEntry, randomTail } from '@countersign/protocol'
import { insertAgent } from '../../../../test/support/insert-agent.ts'
import { logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { openOperator, startTestService, testEnv } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { SPREAD_MS } from '../../src/agents/changes/change-agent.ts'
import { revokeAll } from '../../src/agents/manage/revoke-all.ts'
import { readSettings } from '../../src/base/config.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'
import { deleteAccount } from '../../src/service/privacy/delete-account.ts'
import { Erasures } from '../../src/service/privacy/erasures.ts'

const AGENTS = process.env.TEST_TIER === 'quick' ? 300 : ON_POSTGRES ? 2000 : 10_000
/** Agents of another owner, whose entries are not spread. */
const CONTROLS = 300

test('agents of one owner are not linked by the time of their entries, neither at a verification nor at the erasure', async (t) => {
  const env = await testEnv(t)
  const settings = readSettings(env)
  let now = Date.now()
  const before = await openOperator(settings, () => now)
  const owner = await before.addVerifiedOwner('somebody', 'low')
  const other = await before.addVerifiedOwner('other', 'low')
  await before.db.write(async (tx) => {
    for (let i = 0; i < AGENTS + CONTROLS; i++) {
      const tail = randomTail(randomBytes)
      const agent = { tail, public_key: randomBytes(32), agent_id: `label-of-somebody-${i}` }
      const owner_id = i < AGENTS ? owner : other
      await insertAgent(tx, {
        ...agent,
        seq: 1_000_000 + i,
        owner_id,
        claimed_at: now,
        grade: 'D',
      })
    }
  })
  await before.close()
  const service = await startTestService(t, env, () => now)
  const begun = AGENTS + CONTROLS + 1
  await untilLogged(service, begun)
  const { db } = service.operator

  /** How many changes wait, which are all of this type. */
  const queued = async (type: string) => {
    const rows = await db.read
      .selectFrom('log_queue')
      .select(({ fn }) => ['type', fn.countAll<number | string>().as('count')])
      .groupBy('type')
      .execute()
    assert.deepEqual(
      rows.map((row) => row.type),
      rows.length > 0 ? [type] : [],
    )
    return Number(rows[0]?.count ?? 0)
  }
  const entriesNow = async () => {
    const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
    return entries.filter(isAgentEntry)
  }
  const claimOrder = didsOf(await entriesNow())

  const deps = { db, now: () => now, pepper: loadPepper(settings) }
  const subject = { provider: 'in-person', issuer: 'host', subject: String(owner) }
  const verifiedAt = now
  await verifyOwner(deps, owner, { ...subject, assurance: 'high', expiresAt: null })
  await untilTicked(service, async () => (await queued('grade')) === AGENTS)
  now += SPREAD_MS.spread + 1
  await untilLogged(service, begun + AGENTS)
  const graded = (await entriesNow()).slice(AGENTS + CONTROLS)
  assert.deepEqual([...new Set(graded.map(({ type }) => type))], ['grade'])
  assert.equal(new Set(didsOf(graded)).size, AGENTS)
  assertSpread(graded, verifiedAt, SPREAD_MS.spread, claimOrder)

  const erasedAt = now
  const erasures = new Erasures(settings.dataDir)
  await deleteAccount({ ...deps, erasures }, owner, 'somebody')
  assert.equal(await queued('status'), AGENTS)
  const text = await textOfTables(settings)
  assert.ok(!text.includes('label-of-somebody-0\n') && !text.includes(`somebody-${AGENTS - 1}\n`))
  now += SPREAD_MS.day + 1
  await untilLogged(service, begun + 2 * AGENTS)
  const revoked = (await entriesNow()).slice(2 * AGENTS + CONTROLS)
  assert.deepEqual([...new Set(revoked.map(({ type }) => type))], ['status'])
  assert.equal(new Set(didsOf(revoked)).size, AGENTS)
  assertSpread(revoked, erasedAt, SPREAD_MS.day, claimOrder)
  assertSpread(revoked, erasedAt, SPREAD_MS.day, didsOf(graded))
  const own = new Set(claimOrder.slice(0, AGENTS).map((did) => did.slice(-24)))
  const open = await db.read
    .selectFrom('log_entries')
    .select('tail')
    .where('salt', 'is not', null)
    .execute()
  assert.deepEqual([...new Set(open.map(({ tail }) => own.has(tail ?? '')))], [false])
  assert.equal(await queued('none'), 0)

  // The control: an owner who revokes all agents at once makes entries that are not spread.
  assert.equal(await revokeAll({ db, now: () => now }, other, 'other', 'retired'), CONTROLS)
  const revokedAt = now
  await untilLogged(service, begun + 2 * AGENTS + CONTROLS)
  const together = (await entriesNow()).slice(3 * AGENTS + CONTROLS)
  assert.equal(together.length, CONTROLS)
  assert.ok(unevenness(together, revokedAt, SPREAD_MS.spread) > UNEVEN)
  assert.ok(correlation(didsOf(together), claimOrder) > CORRELATED)
})

/** Chance exceeds these once in 10^13 and in 10^14 runs. */
const UNEVEN = 4
const CORRELATED = 8

type Timed = Pick<AgentEntry, 'at' | 'did'>

const didsOf = (entries: readonly Timed[]) => entries.map(({ did }) => did)

/** Neither the time nor the order of entries tells that they belong together. */
function assertSpread(
  entries: readonly Timed[],
  changedAt: number,
  spreadMs: number,
  order: readonly string[],
) {
  assert.ok(entries.every(({ at }) => at > changedAt && at <= changedAt + spreadMs))
  const uneven = unevenness(entries, changedAt, spreadMs)
  assert.ok(uneven < UNEVEN, `an unevenness of ${uneven}`)
  const correlated = correlation(didsOf(entries), order)
  assert.ok(correlated < CORRELATED, `a correlation of ${correlated}`)
}

/** How far times are from an even spread (Kolmogorov and Smirnov), times the root of their number. */
function unevenness(entries: readonly Timed[], from: number, spreadMs: number): number {
  const times = entries.map(({ at }) => (at - from) / spreadMs).toSorted((a, b) => a - b)
  const count = times.length
  const distances = times.map((time, i) => Math.max(time - i / count, (i + 1) / count - time))
  return Math.max(...distances) * Math.sqrt(count)
}

/** The rank correlation of two orders (Spearman), in standard deviations of what chance gives. */
function correlation(dids: readonly string[], order: readonly string[]): number {
  const known = new Set(dids)
  const rankOf = new Map(order.filter((did) => known.has(did)).map((did, i) => [did, i]))
  const count = dids.length
  const squares = dids.map((did, i) => (i - (rankOf.get(did) as number)) ** 2)
  const sum = squares.reduce((total, each) => total + each, 0)
  return Math.abs(1 - (6 * sum) / (count * (count ** 2 - 1))) * Math.sqrt(count - 1)
}
