import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../support/postgres.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { startCluster } from './support/cluster.ts'
import { assertNodesAgree, brokenOf, nothingBroken } from './support/kept.ts'
import { OwnerLoad } from './support/owner-load.ts'
import { report } from './support/report.ts'
import { told } from './support/told.ts'
import { Watch } from './support/watch.ts'

const CUTS = 300
/** Of this share of commits the connection is cut. */
const SHARE = 0.2
/** Of these some commits arrive and their answer is lost; the others do not arrive. */
const ARRIVE = 0.5
/** MAX_STALENESS, by default. */
const BOUND_MS = 2000

test('the connection is cut in the middle of a commit, 300 times: what a caller was told of it is so, and none is done twice', async (t) => {
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
  const watch = new Watch(t, nodes, load.revocations, BOUND_MS)
  while (cuts.arrived + cuts.lost < CUTS) await sleep(50)
  await load.stop()
  await watch.stop()

  const broken = await brokenOf(load, database)
  report(t, {
    commits,
    'cut, and the commit arrived': cuts.arrived,
    'cut, and it did not': cuts.lost,
    ...told(load, broken),
    'lookups of revoked agents': watch.lookups,
  })
  nothingBroken(broken)
  assert.deepEqual(load.contradictions, [])
  assert.deepEqual(watch.vouchedFor, [])
  report(t, { 'lookups in the end, all as they should be': await assertNodesAgree(nodes, load) })
})

/** What a writer sends to end a transaction: one script. */
function isCommit(bytes: Buffer): boolean {
  return bytes.includes('into commit_marks') && bytes.includes('commit')
}
