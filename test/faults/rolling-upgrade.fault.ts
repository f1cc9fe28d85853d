import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { prepareClaims } from '../support/many-claims.ts'
import { query, startPostgres } from '../support/postgres.ts'
import {
  COUNTERSIGND,
  countersignd,
  openOperator,
  type ServiceProcess,
  startServiceProcess,
  testEnv,
} from '../support/service.ts'
import { assertInvariants, findLostClaims } from './support/acknowledged-claims.ts'
import { startBalancer } from './support/balancer.ts'
import { formatFailures } from './support/claim-load.ts'
import { formatAnswers } from './support/lookup-load.ts'
import { nextRelease } from './support/next-release.ts'
import { report } from './support/report.ts'
import { startSteadyLoad } from './support/steady-load.ts'
import { formatDuration, formatPercentiles } from './support/times.ts'

const CLAIMS = 8000
/** Acknowledgements between two steps. */
const A_STEP = 300
/** Replaces both nodes by the next release, one after the other, after migrating the database. */
const MORE_ROUNDS = 2

test('no request fails while two nodes are upgraded one after the other under load', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const DATABASE_URL = `${postgres.url}/countersign_template`
  const first = await testEnv(t, { DATABASE_URL, DRAIN_SECONDS: '1' })
  const second = await testEnv(t, { ...first, PORT: (await testEnv(t)).PORT as string })
  const settings = readSettings(first)
  const operator = await openOperator(settings)
  const claims = await prepareClaims(operator, CLAIMS)
  await operator.close()

  const newer = nextRelease(t)
  const nodes = new Map<Record<string, string>, ServiceProcess>()
  for (const env of [first, second]) nodes.set(env, await startServiceProcess(t, env))
  const urls = [first, second].map(({ PORT }) => `http://localhost:${PORT}`)
  const balancer = await startBalancer(t, urls)
  const load = startSteadyLoad(balancer.url, claims)
  const step = () => load.reached(load.acknowledged + A_STEP)
  const away: number[] = []
  const replace = async (env: Record<string, string>, program: string) => {
    const began = performance.now()
    assert.equal(await nodes.get(env)?.stop('SIGTERM'), 0)
    nodes.set(env, await startServiceProcess(t, env, program))
    away.push(performance.now() - began)
    await step()
  }
  await step()

  await replace(first, newer)
  const columns = await query(DATABASE_URL, 'select next_release from agents limit 1')
  assert.equal(columns.length, 1, 'the schema is the newer one')
  const before = new Map(balancer.sent)
  await step()
  for (const url of urls) {
    const taken = (balancer.sent.get(url) ?? 0) - (before.get(url) ?? 0)
    assert.ok(taken > 50, 'both serve side by side, each on its own release')
  }
  const older = await countersignd({ ...second, PORT: '0' }, 'serve')
  assert.equal(older.code, 5)
  assert.match(older.stderr, /has migrations that this release does not know: 9999-next-release/)

  await replace(second, newer)
  for (let round = 0; round < MORE_ROUNDS; round++) {
    for (const env of nodes.keys()) await replace(env, newer)
  }
  const tally = await load.end()
  for (const node of nodes.values()) await node.stop('SIGTERM')
  const lost = await findLostClaims(await startServiceProcess(t, first, newer), tally.claims)
  const { agents, events } = await assertInvariants(settings)
  report(t, {
    'the next release': `this one with one migration more (${COUNTERSIGND} copied)`,
    'nodes replaced': away.length,
    acknowledged: tally.claims.acknowledged.size,
    'claims that failed': formatFailures(tally.claims),
    lookups: formatAnswers(tally.lookups),
    'requests dropped': balancer.dropped(),
    'sent to each node': [...balancer.sent.values()].join(' and '),
    found: `${tally.claims.acknowledged.size - lost.length} of the acknowledged, ${agents} agents and ${events} events in all, without a gap`,
    'from claim to answer': formatPercentiles(tally.claims.times),
    'from lookup to answer': formatPercentiles(tally.lookups.times),
    'a node was away for': formatPercentiles(away),
    'the longest wait for a node that is ready': formatDuration(balancer.longestWait()),
  })
  assert.equal(tally.claims.failures.size, 0)
  assert.equal(balancer.dropped(), 0)
  assert.deepEqual([...tally.lookups.answers.keys()], ['active'])
  assert.deepEqual(lost, [])
  assert.equal(agents, tally.claims.acknowledged.size)
})
