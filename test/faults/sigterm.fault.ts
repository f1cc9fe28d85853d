import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { prepareClaims } from '../support/many-claims.ts'
import { openOperator, startServiceProcess, testEnv } from '../support/service.ts'
import { assertInvariants, findLostClaims } from './support/acknowledged-claims.ts'
import { startBalancer } from './support/balancer.ts'
import { formatFailures } from './support/claim-load.ts'
import { formatAnswers } from './support/lookup-load.ts'
import { report } from './support/report.ts'
import { startSteadyLoad } from './support/steady-load.ts'
import { formatDuration, formatPercentiles } from './support/times.ts'

const STOPS = 20
const CLAIMS = 4000
/** Acknowledgements between signals, chosen so that the last service still has work to do. */
const BETWEEN = 180
const SILENT = 100
const DRAIN_SECONDS = 1
/** After the drain, connections have ten seconds to close. Then they are cut. */
const LONGEST_END_MS = (DRAIN_SECONDS + 11) * 1000

test('SIGTERM under load with a hundred idle connections drops no request, twenty times', async (t) => {
  const env = await testEnv(t, { DRAIN_SECONDS: String(DRAIN_SECONDS) })
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  const claims = await prepareClaims(operator, CLAIMS)
  await operator.close()

  // Requests wait in the balancer while no node is ready, so that all of them are answered.
  const balancer = await startBalancer(t, [`http://localhost:${env.PORT}`])
  const load = startSteadyLoad(balancer.url, claims)
  const ends: number[] = []
  for (let stop = 1; stop <= STOPS; stop++) {
    const service = await startServiceProcess(t, env)
    const silent = await connectSilently(settings.port)
    await load.reached(stop * BETWEEN)
    const began = performance.now()
    assert.equal(await service.stop('SIGTERM'), 0, service.output())
    ends.push(performance.now() - began)
    for (const socket of silent) socket.destroy()
  }
  const last = await startServiceProcess(t, env)
  await load.reached(CLAIMS)
  const tally = await load.end()
  await last.stop('SIGKILL')
  const lost = await findLostClaims(await startServiceProcess(t, env), tally.claims)
  const { agents } = await assertInvariants(settings)
  report(t, {
    stopped: `${ends.length} times, with exit code 0 and ${SILENT} silent connections each`,
    acknowledged: tally.claims.acknowledged.size,
    'claims that failed': formatFailures(tally.claims),
    lookups: formatAnswers(tally.lookups),
    'requests dropped': balancer.dropped(),
    found: `${tally.claims.acknowledged.size - lost.length} of the acknowledged, ${agents} agents in all`,
    'from SIGTERM to the end': `${formatPercentiles(ends)} (drain ${DRAIN_SECONDS} s)`,
    'the longest wait for a service that is ready': formatDuration(balancer.longestWait()),
  })
  assert.equal(tally.claims.acknowledged.size, CLAIMS)
  assert.equal(balancer.dropped(), 0)
  assert.deepEqual([...tally.lookups.answers.keys()], ['active'])
  assert.deepEqual(lost, [])
  assert.ok(Math.max(...ends) < LONGEST_END_MS)
})

/** Connections that send nothing. */
async function connectSilently(port: number) {
  const sockets = Array.from({ length: SILENT }, () => connect(port, 'localhost'))
  for (const socket of sockets) socket.on('error', () => undefined)
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}
