import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../support/postgres.ts'
import { saysOf } from './support/ask.ts'
import { startCluster } from './support/cluster.ts'
import { assertNodesAgree, brokenOf, nothingBroken } from './support/kept.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { signalFamily } from './support/processes.ts'
import { report } from './support/report.ts'
import { spreadOf } from './support/times.ts'
import { told } from './support/told.ts'
import { Watch } from './support/watch.ts'

/** Shorter, and longer, than nodes wait for an answer of the database. */
const STOPS_MS = [5_000, 15_000, 30_000]
/** MAX_STALENESS, by default. */
const BOUND_MS = 2000
/** Well beyond what recovery takes, and far from where somebody would restart a node. */
const RECOVERED_MS = 15_000

test('PostgreSQL stops and goes on: nodes stop vouching in time, go on by themselves, and nothing that was acknowledged is lost', async (t) => {
  const server = await startPostgres()
  t.after(() => {
    signalFamily(server.pid, 'SIGCONT')
    return server.stop()
  })
  const database = `${server.url}/countersign_template`
  const { nodes, owners } = await startCluster(t, { database }, 24)
  const load = new OwnerLoad(t, nodes, owners)
  const watch = new Watch(t, nodes, load.revocations, BOUND_MS)
  await load.firstClaimAfter(0)
  const known = load.claims.find(({ did }) => did !== null)?.did as string
  const expected = await saysOf(nodes[0].url, known)
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
        const says = await saysOf(url, known)
        if (says === expected) lastHeard = Math.max(lastHeard, began)
        else duringStop.set(says, (duringStop.get(says) ?? 0) + 1)
      }
      quietAfter.push(lastHeard - stoppedAt)
    }
    await Promise.all(nodes.map(listen))
    signalFamily(server.pid, 'SIGCONT')
    const wokenAt = performance.now()
    const back = async ({ url }: { url: string }) => {
      while ((await saysOf(url, known)) !== expected) {
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
  const broken = await brokenOf(load, database)
  report(t, {
    'stopped, for milliseconds': STOPS_MS.join(', '),
    ...told(load, broken),
    'answers to lookups once a node had stopped to vouch': JSON.stringify(
      Object.fromEntries(duringStop),
    ),
    'how long after the stop a node vouched last': spreadOf(quietAfter),
    'from the resumption until lookups were answered': spreadOf(backAfter),
    'from the resumption until a claim was acknowledged': spreadOf(claimAfter),
    'lookups of revoked agents': watch.lookups,
    'the latest that one was answered `active`, after the revocation': spreadOf([watch.latest]),
  })
  nothingBroken(broken)
  assert.deepEqual(load.contradictions, [])
  assert.deepEqual(watch.vouchedFor, [])
  // Whoever asked for something has had an answer, and long before they would have given up.
  assert.deepEqual(
    [...load.failures.keys()].filter((answer) => answer.includes('no answer')),
    [],
  )
  assert.deepEqual([...duringStop.keys()], ['503'])
  assert.ok(Math.max(...quietAfter) <= BOUND_MS, 'a node vouched for longer than it may')
  assert.ok(Math.max(...claimAfter) <= RECOVERED_MS)
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
})
