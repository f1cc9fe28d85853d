import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../support/postgres.ts'
import {
  assertConsistent,
  assertNodesAgree,
  findInconsistencies,
} from './support/acknowledged-changes.ts'
import { statusAt } from './support/ask.ts'
import { startCluster } from './support/cluster.ts'
import { loadSummary } from './support/load-summary.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { signalFamily } from './support/processes.ts'
import { report } from './support/report.ts'
import { RevocationWatch } from './support/revocation-watch.ts'
import { formatPercentiles } from './support/times.ts'

/** One shorter and one longer than the nodes' time-out for database responses. */
const STOPS_MS = [5_000, 15_000, 30_000]
/** The default MAX_STALENESS. */
const BOUND_MS = 2000
/** Well above the recovery time, but before an operator would restart a node. */
const RECOVERED_MS = 15_000

test('while PostgreSQL is paused nodes stop vouching in time, then recover by themselves without losing acknowledged writes', async (t) => {
  const server = await startPostgres()
  t.after(() => {
    signalFamily(server.pid, 'SIGCONT')
    return server.stop()
  })
  const database = `${server.url}/countersign_template`
  const { nodes, owners } = await startCluster(t, { database }, 24)
  const load = new OwnerLoad(t, nodes, owners)
  const watch = new RevocationWatch(t, nodes, load.revocations, BOUND_MS)
  await load.firstClaimAfter(0)
  const known = load.claims.find(({ did }) => did !== null)?.did as string
  const expected = await statusAt(nodes[0].url, known)
  const quietAfter: number[] = []
  const backAfter: number[] = []
  const claimAfter: number[] = []
  const duringStop = new Map<string, number>()

  for (const stopMs of STOPS_MS) {
    await sleep(1000)
    signalFamily(server.pid, 'SIGSTOP')
    const stoppedAt = performance.now()
    const listen = async ({ url }: { url: string }) => {
      let lastHeard = stoppedAt
      for (let began = 0; began < stoppedAt + stopMs - 100; await sleep(10)) {
        began = performance.now()
        const says = await statusAt(url, known)
        if (says === expected) lastHeard = Math.max(lastHeard, began)
        else duringStop.set(says, (duringStop.get(says) ?? 0) + 1)
      }
      quietAfter.push(lastHeard - stoppedAt)
    }
    await Promise.all(nodes.map(listen))
    signalFamily(server.pid, 'SIGCONT')
    const wokenAt = performance.now()
    const back = async ({ url }: { url: string }) => {
      while ((await statusAt(url, known)) !== expected) {
        assert.ok(performance.now() - wokenAt < RECOVERED_MS, `${url} does not come back`)
        await sleep(5)
      }
      backAfter.push(performance.now() - wokenAt)
    }
    await Promise.all(nodes.map(back))
    claimAfter.push((await load.firstClaimAfter(wokenAt)) - wokenAt)
  }
  await sleep(1000)
  await load.stop()
  await watch.stop()
  const inconsistencies = await findInconsistencies(load, database)
  report(t, {
    'stopped, for milliseconds': STOPS_MS.join(', '),
    ...loadSummary(load, inconsistencies),
    'answers to lookups once a node had stopped to vouch': JSON.stringify(
      Object.fromEntries(duringStop),
    ),
    'how long after the stop a node vouched last': formatPercentiles(quietAfter),
    'from the resumption until lookups were answered': formatPercentiles(backAfter),
    'from the resumption until a claim was acknowledged': formatPercentiles(claimAfter),
    'lookups of revoked agents': watch.lookups,
    'the latest that one was answered `active`, after the revocation': formatPercentiles([
      watch.latest,
    ]),
  })
  assertConsistent(inconsistencies)
  assert.deepEqual(load.contradictions, [])
  assert.deepEqual(watch.vouchedFor, [])
  // Every request was answered, long before a caller would give up.
  assert.deepEqual(
    [...load.failures.keys()].filter((answer) => answer.includes('no answer')),
    [],
  )
  assert.deepEqual([...duringStop.keys()], ['503'])
  assert.ok(Math.max(...quietAfter) <= BOUND_MS, 'a node vouched for longer than it may')
  assert.ok(Math.max(...claimAfter) <= RECOVERED_MS)
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
})
