import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { query, startPostgres } from '../support/postgres.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import {
  assertConsistent,
  assertNodesAgree,
  findInconsistencies,
} from './support/acknowledged-changes.ts'
import { statusAt } from './support/ask.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { loadSummary } from './support/load-summary.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { report } from './support/report.ts'
import { formatPercentiles } from './support/times.ts'

const REVOCATIONS = 200
/** Milliseconds from the acknowledgement of a revocation until every node refuses the agent. */
const PROMISED_MS = 1000
const PROMISED_AFTER_LOSS_MS = 2000
const EVERY_MS = 150

interface Ground {
  readonly cluster: Cluster
  readonly database: string
}

/**
 * Starts two nodes.
 * @param deaf whether to lose all PostgreSQL notifications, by cutting each connection that listens for them
 */
async function start(t: TestContext, deaf = false): Promise<Ground> {
  const server = await startPostgres()
  t.after(() => server.stop())
  const database = `${server.url}/countersign_template`
  const ways = [await startStallingProxy(t, database), await startStallingProxy(t, database)]
  for (const way of ways)
    way.onSent((bytes) => (deaf && bytes.includes('listen countersign') ? 'lose' : undefined))
  return {
    cluster: await startCluster(t, { database, ways: ways.map(({ url }) => url) }),
    database,
  }
}

/**
 * Repeatedly ends the server's connections that match a condition.
 * @returns how many it ended
 */
function cutAgainAndAgain(
  t: TestContext,
  database: string,
  which: string,
): { stop(): Promise<number> } {
  let stopping = false
  let cut = 0
  const cutting = (async () => {
    while (!stopping) {
      const ended = await query(
        database,
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and ${which}`,
      )
      cut += ended.length
      await sleep(EVERY_MS)
    }
  })()
  const stop = async () => {
    stopping = true
    await cutting
    return cut
  }
  t.after(stop)
  return { stop }
}

/** Owners claim and revoke. After each revocation, every node is polled until it refuses the agent. */
async function measure(t: TestContext, { cluster, database }: Ground, promisedMs: number) {
  const { nodes, owners } = cluster
  const load = new OwnerLoad(t, nodes, owners)
  const times: number[] = []
  let latest = 0
  const untilRefused = async (url: string, did: string, at: number) => {
    for (let began = performance.now(); ; began = performance.now()) {
      if ((await statusAt(url, did)) !== 'active') break
      latest = Math.max(latest, began - at)
      await sleep(2)
    }
    times.push(performance.now() - at)
  }
  const followed: Promise<void>[] = []
  load.onRevoked = ({ did, at }, node) => {
    // The node that answered already refuses it. The other node must learn of it.
    for (const { url } of nodes) if (url !== node) followed.push(untilRefused(url, did, at))
  }
  while (followed.length < REVOCATIONS) await sleep(20)
  await load.stop()
  await Promise.all(followed)
  const inconsistencies = await findInconsistencies(load, database)
  report(t, {
    ...loadSummary(load, inconsistencies),
    'from the acknowledgement of a revocation until the other node refuses':
      formatPercentiles(times),
    'the latest lookup that was answered `active`, after the acknowledgement': formatPercentiles([
      latest,
    ]),
  })
  assertConsistent(inconsistencies)
  assert.deepEqual(load.contradictions, [])
  assert.ok(latest <= promisedMs, `an agent was vouched for ${latest} ms later`)
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
}

test('every node refuses a revoked agent within a second while listening connections are repeatedly cut', async (t) => {
  const ground = await start(t)
  const cutting = cutAgainAndAgain(t, ground.database, "query like 'listen%'")
  await measure(t, ground, PROMISED_MS)
  const cut = await cutting.stop()
  report(t, { 'listening connections cut': cut })
  assert.ok(cut > 10)
})

test('every node refuses a revoked agent within a second if no notification ever arrives', async (t) => {
  const ground = await start(t, true)
  await measure(t, ground, PROMISED_MS)
  const listening = "select 1 from pg_stat_activity where query like 'listen countersign%'"
  assert.deepEqual(await query(ground.database, listening), [], 'somebody listens')
})

test('every node refuses a revoked agent within two seconds while all connections are repeatedly cut', async (t) => {
  const ground = await start(t)
  const cutting = cutAgainAndAgain(t, ground.database, "application_name = 'countersign'")
  await measure(t, ground, PROMISED_AFTER_LOSS_MS)
  const cut = await cutting.stop()
  report(t, { 'connections cut': cut })
  assert.ok(cut > 10)
})
