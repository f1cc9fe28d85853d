import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { until } from '../support/until.ts'
import {
  assertConsistent,
  assertNodesAgree,
  findInconsistencies,
  type Inconsistencies,
} from './support/acknowledged-changes.ts'
import { statusAt } from './support/ask.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { loadSummary } from './support/load-summary.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { PostgresPair } from './support/postgres-pair.ts'
import { report } from './support/report.ts'
import { RevocationWatch } from './support/revocation-watch.ts'
import { formatPercentiles } from './support/times.ts'

const FAILOVERS = 20
/** The default MAX_STALENESS. */
const BOUND_MS = 2000
/** The maximum time until nodes notice that the database has changed. */
const FORGOTTEN_MS = 5000

test('a failover to the standby loses no acknowledged write, and no revoked agent is vouched for, 20 times', async (t) => {
  const pair = await PostgresPair.start(t)
  await pair.join()
  const { nodes, owners } = await startCluster(t, { database: pair.databaseUrl })
  const load = new OwnerLoad(t, nodes, owners)
  const watch = new RevocationWatch(t, nodes, load.revocations, BOUND_MS)
  const promotions: number[] = []
  const outages: number[] = []
  const returns: number[] = []
  for (let round = 0; round < FAILOVERS; round++) {
    if (round > 0) await pair.join()
    await sleep(500)
    const { killedAt, promotedAt } = await pair.failOver()
    promotions.push(promotedAt - killedAt)
    const claimedAt = await load.firstClaimAfter(killedAt)
    outages.push(claimedAt - killedAt)
    // The server reports the promotion slightly after it happened.
    returns.push(Math.max(0, claimedAt - promotedAt))
  }
  await load.stop()
  await watch.stop()
  const inconsistencies = await findInconsistencies(load, pair.primaryUrl)
  report(t, {
    failovers: FAILOVERS,
    ...loadSummary(load, inconsistencies),
    'from the kill until the standby was the primary': formatPercentiles(promotions),
    'from the kill until the first claim was acknowledged': formatPercentiles(outages),
    'from the promotion until the first claim was acknowledged': formatPercentiles(returns),
    'lookups of revoked agents': watch.lookups,
    'the latest that one was answered `active`, after the revocation': formatPercentiles([
      watch.latest,
    ]),
  })
  assertConsistent(inconsistencies)
  assert.deepEqual(load.contradictions, [])
  assert.deepEqual(watch.vouchedFor, [])
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
})

interface Aftermath {
  /** Claims that were sent and acknowledged while the standby was disconnected. */
  readonly unheard: number
  readonly cluster: Cluster
  readonly load: OwnerLoad
  readonly inconsistencies: Inconsistencies
}

/** Disconnects the standby from its primary, continues the load for a while, then kills the primary. */
async function failOverUnheard(t: TestContext, synchronous: boolean): Promise<Aftermath> {
  const pair = await PostgresPair.start(t)
  const way = await startStallingProxy(t, pair.primaryUrl)
  await pair.join({ through: new URL('/', way.url).href.slice(0, -1), synchronous })
  const cluster = await startCluster(t, { database: pair.databaseUrl })
  const load = new OwnerLoad(t, cluster.nodes, cluster.owners)
  await sleep(1000)
  way.pause()
  const pausedAt = performance.now()
  await sleep(1000)
  const { killedAt } = await pair.failOver()
  way.cut()
  await load.firstClaimAfter(killedAt)
  await load.stop()
  const inconsistencies = await findInconsistencies(load, pair.primaryUrl)
  const unheard = (load.acknowledged.claim ?? []).filter(
    ({ began, at }) => began > pausedAt && at < killedAt,
  ).length
  report(t, {
    'claims acknowledged while the standby heard nothing': unheard,
    ...loadSummary(load, inconsistencies),
  })
  return { unheard, cluster, load, inconsistencies }
}

test('nothing is acknowledged while the standby is disconnected, so a failover then loses nothing', async (t) => {
  const { unheard, cluster, load, inconsistencies } = await failOverUnheard(t, true)
  assert.equal(unheard, 0)
  assertConsistent(inconsistencies)
  assert.deepEqual(load.contradictions, [])
  await assertNodesAgree(cluster.nodes, load)
})

test('control: without synchronous replication the same failover loses acknowledged writes, and nodes forget them and continue', async (t) => {
  const { cluster, inconsistencies } = await failOverUnheard(t, false)
  assert.ok(inconsistencies.lostClaims.length > 0, 'this test cannot see a loss')
  // The new primary assigns event numbers again that nodes already know from lost events.
  for (const { url } of cluster.nodes)
    for (const did of inconsistencies.lostClaims)
      await until(async () => (await statusAt(url, did)) === '404', FORGOTTEN_MS)
  const after = new OwnerLoad(t, cluster.nodes, cluster.owners)
  await sleep(1000)
  await after.stop()
  assert.ok(after.revocations.length > 0)
  assert.deepEqual(after.contradictions, [])
  await assertNodesAgree(cluster.nodes, after)
})
