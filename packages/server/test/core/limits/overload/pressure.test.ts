import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ask, post } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { freePort } from '../../../../../../test/support/ports.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import { claimAgent, startTestService } from '../../../../../../test/support/service.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { until } from '../../../../../../test/support/until.ts'
import { assertTurnedAway, PATIENT } from './support.ts'

/** Nothing else runs in this process meanwhile, and the service runs in it. */
function blockTheLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Every turn of the event loop takes more than a second, from here until it is told to end. */
async function press(): Promise<() => void> {
  let isOver = false
  const turn = async () => {
    blockTheLoop(1200)
    await nextTurn()
  }
  for (let i = 0; i < 4; i++) await turn()
  void (async () => {
    while (!isOver) await turn()
  })()
  return () => {
    isOver = true
  }
}

test('a process that cannot keep up refuses at once, but for lookups, health and taking an agent back', async (t) => {
  const metricsPort = String(await freePort())
  const service = await startTestService(t, { METRICS_PORT: metricsPort, ...PATIENT })
  const key = newKey()
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const did = await claimAgent(service, owner.ownerId, key)
  const card = `/api/agents/${did}/card`
  assert.equal((await ask(service, card)).status, 200)

  const calm = await press()
  const [read, verified, account, ...healthy] = await Promise.all([
    ask(service, card),
    post(service, '/api/v1/agent/verify', verifyBody(key)),
    owner.get('/api/account'),
    ask(service, `/api/v1/agent/${did}`),
    // Not ahead of the router.
    ask(service, `/api/v1/agent/${did}`, { method: 'HEAD' }),
    ask(service, '/healthz'),
    ask(service, '/readyz'),
    owner.post(`/api/account/agents/${did}/revoke`),
  ]).finally(calm)
  for (const refused of [read, verified, account]) assertTurnedAway(refused)
  assert.equal(read.headers.get('access-control-allow-origin'), '*')
  assert.match(read.headers.get('access-control-expose-headers') ?? '', /Retry-After/)
  assert.deepEqual(
    healthy.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  const metrics = await (await fetch(`http://localhost:${metricsPort}/metrics`)).text()
  assert.match(metrics, /^countersign_refused_total\{reason="pressure"\} 3$/m)

  await until(async () => (await ask(service, card)).status === 200, 30_000)
})
