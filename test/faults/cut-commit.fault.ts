import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../support/postgres.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import {
  assertConsistent,
  assertNodesAgree,
  findInconsistencies,
} from './support/acknowledged-changes.ts'
import { startCluster } from './support/cluster.ts'
import { loadSummary } from './support/load-summary.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { report } from './support/report.ts'
import { RevocationWatch } from './support/revocation-watch.ts'

const CUTS = 300
/** The share of commits during which the connection is cut. */
const SHARE = 0.2
/** Of these, the share in which the commit reaches the server and only the response is lost. */
const ARRIVE = 0.5
/** The default MAX_STALENESS. */
const BOUND_MS = 2000

test('if the connection is cut during a commit, answers match the database and nothing is done twice, 300 times', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const database = `${server.url}/countersign_template`
  const ways = [await startStallingProxy(t, database), await startStallingProxy(t, database)]
  const { nodes, owners } = await startCluster(t, { database, ways: ways.map(({ url }) => url) })

  const cuts = { arrived: 0, lost: 0 }
  let commits = 0
  for (const way of ways)
    way.onSent((bytes) => {
      if (!isCommit(bytes)) return undefined
      commits += 1
      if (cuts.arrived + cuts.lost >= CUTS || Math.random() > SHARE) return undefined
      const arrives = Math.random() < ARRIVE
      cuts[arrives ? 'arrived' : 'lost'] += 1
      return arrives ? 'cut' : 'lose'
    })
  const load = new OwnerLoad(t, nodes, owners)
  const watch = new RevocationWatch(t, nodes, load.revocations, BOUND_MS)
  while (cuts.arrived + cuts.lost < CUTS) await sleep(50)
  await load.stop()
  await watch.stop()

  const inconsistencies = await findInconsistencies(load, database)
  report(t, {
    commits,
    'cut, and the commit arrived': cuts.arrived,
    'cut, and it did not': cuts.lost,
    ...loadSummary(load, inconsistencies),
    'lookups of revoked agents': watch.lookups,
  })
  assertConsistent(inconsistencies)
  assert.deepEqual(load.contradictions, [])
  assert.deepEqual(watch.vouchedFor, [])
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
})

/** The script with which a writer ends a transaction. */
function isCommit(bytes: Buffer): boolean {
  return bytes.includes('into commit_marks') && bytes.includes('commit')
}
