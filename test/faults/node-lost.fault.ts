import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { query, startPostgres } from '../support/postgres.ts'
import type { ServiceProcess } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  assertConsistent,
  assertNodesAgree,
  findInconsistencies,
} from './support/acknowledged-changes.ts'
import { ask, statusAt } from './support/ask.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { loadSummary } from './support/load-summary.ts'
import { type ClaimMade, OwnerLoad } from './support/owner-load.ts'
import { report } from './support/report.ts'
import { RevocationWatch } from './support/revocation-watch.ts'
import { formatPercentiles } from './support/times.ts'

const KILLS = 10
/** The default MAX_STALENESS. */
const BOUND_MS = 2000
const PATIENCE_MS = 20_000
/** How long a lock must be held before it counts as waiting for the node. */
const STUCK_MS = 100

interface Ground {
  readonly cluster: Cluster
  readonly database: string
}

/** Two nodes whose database connections are named node-0 and node-1. */
async function start(t: TestContext): Promise<Ground> {
  const server = await startPostgres()
  t.after(() => server.stop())
  const database = `${server.url}/countersign_template`
  const ways = [0, 1].map((node) => `${database}?application_name=${nameOf(node)}`)
  return { cluster: await startCluster(t, { database, ways }), database }
}

function nameOf(node: number): string {
  return `node-${node}`
}

/** Pauses a node during a transaction in which it holds the lock that all writers need. */
async function stopInTransaction(
  database: string,
  node: number,
  { child }: ServiceProcess,
): Promise<void> {
  const holds = async () => {
    const held = `select 1 from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and application_name = '${nameOf(node)}'`
    return (await query(database, held)).length > 0
  }
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; ) {
    child.kill('SIGSTOP')
    if (await holds()) {
      await sleep(STUCK_MS)
      if (await holds()) return
    }
    child.kill('SIGCONT')
    await sleep(Math.random() * 20)
  }
  assert.fail('the node is never in a transaction')
}

test('if a node is killed during a transaction, the other continues and no acknowledged write is lost, 10 times', async (t) => {
  const { cluster, database } = await start(t)
  const nodes = [...cluster.nodes]
  const load = new OwnerLoad(t, nodes, cluster.owners)
  const watch = new RevocationWatch(t, nodes, load.revocations, BOUND_MS)
  const claimAfter: number[] = []
  const goneAfter: number[] = []
  const backAfter: number[] = []
  for (let round = 0; round < KILLS; round++) {
    await sleep(300)
    const which = round % 2
    const node = nodes[which] as ServiceProcess
    await stopInTransaction(database, which, node)
    const killedAt = performance.now()
    await node.stop('SIGKILL')
    claimAfter.push((await load.firstClaimAfter(killedAt)) - killedAt)
    const connections = `select 1 from pg_stat_activity where application_name = '${nameOf(which)}'`
    await until(async () => (await query(database, connections)).length === 0, PATIENCE_MS)
    goneAfter.push(performance.now() - killedAt)
    const restartedAt = performance.now()
    nodes[which] = await cluster.restart(node)
    backAfter.push(performance.now() - restartedAt)
  }
  await load.stop()
  await watch.stop()
  const inconsistencies = await findInconsistencies(load, database)
  report(t, {
    kills: KILLS,
    ...loadSummary(load, inconsistencies),
    'from the kill until a claim was acknowledged elsewhere': formatPercentiles(claimAfter),
    'from the kill until its connections and its lock were gone, at the latest':
      formatPercentiles(goneAfter),
    'start of a node': formatPercentiles(backAfter),
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

test('if a node is paused during a transaction, the other continues, and the paused one vouches for no agent revoked meanwhile', async (t) => {
  const { cluster, database } = await start(t)
  const [still, other] = cluster.nodes
  const load = new OwnerLoad(t, cluster.nodes, cluster.owners)
  await until(async () => load.claims.length > 100, PATIENCE_MS)
  const revoked = new Set(load.revocations.map(({ did }) => did))
  const known = load.claims.filter(({ did }) => did !== null && !revoked.has(did)).slice(0, 20)
  await stopInTransaction(database, 0, still)
  const stoppedAt = performance.now()
  const revoke = async ({ did, owner }: ClaimMade) => {
    const reply = await ask('POST', `${other.url}/api/account/agents/${did}/revoke`, owner, {})
    assert.equal(reply?.status, 200)
    load.revocations.push({ did: did as string, told: 'done', at: performance.now() })
    return performance.now() - stoppedAt
  }
  const wentOnAfter = await Promise.all(known.map(revoke))
  // Some lookups are sent while the node is paused and wait for it, some as soon as it continues.
  const asked = known.map(({ did }) => statusAt(still.url, did as string))
  await sleep(BOUND_MS)
  still.child.kill('SIGCONT')
  const first = await Promise.all(known.map(({ did }) => statusAt(still.url, did as string)))
  const answers = Object.groupBy([...(await Promise.all(asked)), ...first], (says) => says)
  await load.stop()
  const inconsistencies = await findInconsistencies(load, database)
  const counts = Object.entries(answers).map(([says, all = []]) => `${says} ${all.length} times`)
  report(t, {
    ...loadSummary(load, inconsistencies),
    'from the stop until the other node wrote': formatPercentiles(wentOnAfter),
    'agents that were revoked while the node stood still': known.length,
    'what it said of them at first': counts.join(', '),
  })
  assert.equal(known.length, 20)
  assert.equal(answers.active, undefined, 'it vouched for an agent that was revoked long before')
  assertConsistent(inconsistencies)
  assert.deepEqual(load.contradictions, [])
  await assertNodesAgree(cluster.nodes, load)
})
