import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { until } from '../support/until.ts'
import { saysOf } from './support/ask.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { assertNodesAgree, type Broken, brokenOf, nothingBroken } from './support/kept.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { PostgresPair } from './support/postgres-pair.ts'
import { report } from './support/report.ts'
import { spreadOf } from './support/times.ts'
import { told } from './support/told.ts'
import { Watch } from './support/watch.ts'

const FAILOVERS = 20
/** MAX_STALENESS, by default. */
const BOUND_MS = 2000
/** Within so long nodes have seen that the database is not what it was. */
const FORGOTTEN_MS = 5000

test('the primary is killed and the standby takes its place, 20 times: nothing that was acknowledged is lost, and no revoked agent is vouched for', async (t) => {
  const pair = await PostgresPair.start(t)
  await pair.join()
  const { nodes, owners } = await startCluster(t, { database: pair.databaseUrl })
  const load = new OwnerLoad(t, nodes, owners)
  const watch = new Watch(t, nodes, load.revocations, BOUND_MS)
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
    // The server says that it is promoted a little later than it is.
    returns.push(Math.max(0, claimedAt - promotedAt))
  }
  await load.stop()
  await watch.stop()
  const broken = await brokenOf(load, pair.primaryUrl)
  report(t, {
    failovers: FAILOVERS,
    ...told(load, broken),
    'from the kill until the standby was the primary': spreadOf(promotions),
    'from the kill until the first claim was acknowledged': spreadOf(outages),
    'from the promotion until the first claim was acknowledged': spreadOf(returns),
    'lookups of revoked agents': watch.lookups,
    'the latest that one was answered `active`, after the revocation': spreadOf([watch.latest]),
  })
  nothingBroken(broken)
  assert.deepEqual(load.contradictions, [])
  assert.deepEqual(watch.vouchedFor, [])
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
})

interface Aftermath {
  /** Claims that were sent and acknowledged while the standby heard nothing. */
  readonly unheard: number
  readonly cluster: Cluster
  readonly load: OwnerLoad
  readonly broken: Broken
}

/** The standby hears nothing more of its primary, owners go on for a while, and then the primary is killed. */
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
  const broken = await brokenOf(load, pair.primaryUrl)
  const unheard = (load.acknowledged.claim ?? []).filter(
    ({ began, at }) => began > pausedAt && at < killedAt,
  ).length
  report(t, {
    'claims acknowledged while the standby heard nothing': unheard,
    ...told(load, broken),
  })
  return { unheard, cluster, load, broken }
}

test('while the standby hears nothing nothing is acknowledged, so that a failover then loses nothing', async (t) => {
  const { unheard, cluster, load, broken } = await failOverUnheard(t, true)
  assert.equal(unheard, 0)
  nothingBroken(broken)
  assert.deepEqual(load.contradictions, [])
  await assertNodesAgree(cluster.nodes, load)
})

test('control: where the primary does not wait for its standby, the same failover loses what was acknowledged; nodes forget it, and go on', async (t) => {
  const { cluster, broken } = await failOverUnheard(t, false)
  assert.ok(broken.lostClaims.length > 0, 'this test cannot see a loss')
  // The new primary gives numbers out again that nodes know already, of events that are lost.
  for (const { url } of cluster.nodes)
    for (const did of broken.lostClaims)
      await until(async () => (await saysOf(url, did)) === '404', FORGOTTEN_MS)
  const after = new OwnerLoad(t, cluster.nodes, cluster.owners)
  await sleep(1000)
  await after.stop()
  assert.ok(after.revocations.length > 0)
  assert.deepEqual(after.contradictions, [])
  await assertNodesAgree(cluster.nodes, after)
})
