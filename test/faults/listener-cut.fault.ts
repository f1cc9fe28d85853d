import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { query, startPostgres } from '../support/postgres.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { saysOf } from './support/ask.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { assertNodesAgree, brokenOf, nothingBroken } from './support/kept.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { report } from './support/report.ts'
import { spreadOf } from './support/times.ts'
import { told } from './support/told.ts'

const REVOCATIONS = 200
/** From the acknowledgement of a revocation until every node refuses the agent. */
const PROMISED_MS = 1000
const PROMISED_AFTER_LOSS_MS = 2000
const EVERY_MS = 150

interface Ground {
  readonly cluster: Cluster
  readonly database: string
}

/**
 * Starts two nodes.
 * @param deaf the notifications of PostgreSQL reach no node: whenever one asks for them its connection is lost
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

/** Ends connections at the server, those that a condition names, again and again. @returns how many in the end */
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

/** Owners claim and revoke; each revocation is followed at every node until that refuses the agent. */
async function measure(t: TestContext, { cluster, database }: Ground, promisedMs: number) {
  const { nodes, owners } = cluster
  const load = new OwnerLoad(t, nodes, owners)
  const times: number[] = []
  let latest = 0
  const untilRefused = async (url: string, did: string, at: number) => {
    for (let began = performance.now(); ; began = performance.now()) {
      if ((await saysOf(url, did)) !== 'active') break
      latest = Math.max(latest, began - at)
      await sleep(2)
    }
    times.push(performance.now() - at)
  }
  const followed: Promise<void>[] = []
  load.onRevoked = ({ did, at }, node) => {
    // The node that has answered shows it already; it is the other one that has to hear of it.
    for (const { url } of nodes) if (url !== node) followed.push(untilRefused(url, did, at))
  }
  while (followed.length < REVOCATIONS) await sleep(20)
  await load.stop()
  await Promise.all(followed)
  const broken = await brokenOf(load, database)
  report(t, {
    ...told(load, broken),
    'from the acknowledgement of a revocation until the other node refuses': spreadOf(times),
    'the latest lookup that was answered `active`, after the acknowledgement': spreadOf([latest]),
  })
  nothingBroken(broken)
  assert.deepEqual(load.contradictions, [])
  assert.ok(latest <= promisedMs, `an agent was vouched for ${latest} ms later`)
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
}

test('where the connections that listen are cut again and again, every node knows of a revocation within a second', async (t) => {
  const ground = await start(t)
  const cutting = cutAgainAndAgain(t, ground.database, "query like 'listen%'")
  await measure(t, ground, PROMISED_MS)
  const cut = await cutting.stop()
  report(t, { 'listening connections cut': cut })
  assert.ok(cut > 10)
})

test('where no notification ever arrives, every node knows of a revocation within a second', async (t) => {
  const ground = await start(t, true)
  await measure(t, ground, PROMISED_MS)
  const listening = "select 1 from pg_stat_activity where query like 'listen countersign%'"
  assert.deepEqual(await query(ground.database, listening), [], 'somebody listens')
})

test('where all connections are cut again and again, every node knows of a revocation within two seconds', async (t) => {
  const ground = await start(t)
  const cutting = cutAgainAndAgain(t, ground.database, "application_name = 'countersign'")
  await measure(t, ground, PROMISED_AFTER_LOSS_MS)
  const cut = await cutting.stop()
  report(t, { 'connections cut': cut })
  assert.ok(cut > 10)
})
