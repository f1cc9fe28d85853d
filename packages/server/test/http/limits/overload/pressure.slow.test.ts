import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ask, post } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { freePort } from '../../../../../../test/support/ports.ts'
import { ON_POSTGRES } from '../../../../../../test/support/postgres.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import { claimAgent, startTestService } from '../../../../../../test/support/service.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { until } from '../../../../../../test/support/until.ts'
import { assertShed, PATIENT } from './support.ts'

/** Blocks the event loop of this process, in which the service runs too. */
function blockTheLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Makes every turn of the event loop take more than a second. @returns ends that */
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

/** A blocked process also misses the deadlines of its questions to PostgreSQL, which is another kind of 503. */
const WITHOUT_DEADLINES = { skip: ON_POSTGRES && 'it is about the event loop' }

test(
  'a process under pressure rejects requests at once, except lookups, cards, health checks and revocations',
  WITHOUT_DEADLINES,
  async (t) => {
    const metricsPort = String(await freePort())
    const service = await startTestService(t, { METRICS_PORT: metricsPort, ...PATIENT })
    const key = newKey()
    const owner = await signIn(service, await service.operator.addVerifiedOwner())
    const did = await claimAgent(service, owner.ownerId, key)
    const grade = `/api/agents/${did}/grade`
    assert.equal((await ask(service, grade)).status, 200)

    const calm = await press()
    const [read, verified, account, ...healthy] = await Promise.all([
      ask(service, grade),
      post(service, '/api/v1/agent/verify', verifyBody(key)),
      owner.get('/api/account'),
      ask(service, `/api/v1/agent/${did}`),
      // HEAD goes through the router, unlike a plain GET.
      ask(service, `/api/v1/agent/${did}`, { method: 'HEAD' }),
      ask(service, `/api/agents/${did}/card`),
      ask(service, '/healthz'),
      ask(service, '/readyz'),
      owner.post(`/api/account/agents/${did}/revoke`),
    ]).finally(calm)
    for (const refused of [read, verified, account]) assertShed(refused)
    assert.equal(read.headers.get('access-control-allow-origin'), '*')
    assert.match(read.headers.get('access-control-expose-headers') ?? '', /Retry-After/)
    assert.deepEqual(
      healthy.map(({ status }) => status),
      [200, 200, 200, 200, 200, 200],
      healthy.map(({ text }) => text).join('\n'),
    )
    const metrics = await (await fetch(`http://localhost:${metricsPort}/metrics`)).text()
    assert.match(metrics, /^countersign_refused_total\{reason="pressure"\} 3$/m)

    await until(async () => (await ask(service, grade)).status === 200, 30_000)
  },
)
