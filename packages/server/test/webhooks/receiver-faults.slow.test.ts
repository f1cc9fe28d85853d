import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import type { CreatedWebhook, WebhookDeliveries } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { type Behaviour, type Receiver, startReceiver } from './support/receiver.ts'

const WEBHOOKS = '/api/account/webhooks'

/** How receivers fail, and what the log says of it. */
interface Fault {
  readonly behaviour: Behaviour
  readonly status: number | null
  readonly problem: RegExp
}

test('receivers that are slow, gone, answer 500 or redirect to a private address delay nobody else, and get everything once they work', async (t) => {
  let ahead = 0
  const start = Date.now()
  const service = await startTestService(t, {}, () => start + ahead)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const reached: string[] = []
  const inside = await startSite(t, ({ url }, response) => {
    reached.push(String(url))
    response.end()
  })
  const faults: Readonly<Record<string, Fault>> = {
    slow: { behaviour: () => undefined, status: null, problem: /does not answer in time/ },
    failing: { behaviour: 500, status: 500, problem: /answers with 500/ },
    redirecting: {
      behaviour: (response) => response.writeHead(307, { location: `${inside}/secret` }).end(),
      status: 307,
      problem: /redirect \(307\), which is not followed/,
    },
  }
  const add = async (url: string) => {
    const created = await owner.post(WEBHOOKS, { url, eventTypes: ['agent.claimed'] })
    assert.equal(created.status, 201, created.text)
    return jsonOf<CreatedWebhook>(created).id
  }
  const logOf = async (id: string) =>
    jsonOf<WebhookDeliveries>(await owner.get(`${WEBHOOKS}/${id}/deliveries`)).deliveries
  const working = await startReceiver(t)
  const workingId = await add(working.url)
  const broken = new Map<string, { readonly id: string; readonly receiver: Receiver }>()
  for (const [name, { behaviour }] of Object.entries(faults)) {
    const receiver = await startReceiver(t)
    receiver.behaviour = behaviour
    broken.set(name, { id: await add(receiver.url), receiver })
  }
  const port = await freePort('localhost')
  const goneId = await add(`http://localhost:${port}/hook`)

  for (const label of ['first', 'second']) {
    await claimAgent(service, owner.ownerId, undefined, label)
  }
  // While the slow one has not even failed yet.
  await untilTicked(service, async () => working.received.length === 2)
  await untilTicked(service, async () =>
    (await logOf(workingId)).every(({ state }) => state === 'delivered'),
  )
  const failed = {
    ...faults,
    gone: { status: null, problem: /cannot be reached|refused|connect/i },
  }
  for (const [name, { status, problem }] of Object.entries(failed)) {
    const id = broken.get(name)?.id ?? goneId
    await untilTicked(service, async () => (await logOf(id)).some(({ attempts }) => attempts > 0))
    const deliveries = await logOf(id)
    const tried = deliveries.find(({ attempts }) => attempts > 0)
    assert.deepEqual([tried?.state, tried?.status], ['pending', status], name)
    assert.match(tried?.problem ?? '', problem, name)
    assert.equal(deliveries.find(({ attempts }) => attempts === 0)?.state, 'pending', 'in order')
  }
  assert.deepEqual(reached, [], 'the private address was not asked')

  for (const { receiver } of broken.values()) receiver.behaviour = 204
  const returned: string[] = []
  const server = createServer((request, response) => {
    returned.push(String(request.headers['webhook-id']))
    response.writeHead(204).end()
  }).listen(port, 'localhost')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  ahead += 11_000
  for (const id of [...[...broken.values()].map((each) => each.id), goneId]) {
    await untilTicked(service, async () =>
      (await logOf(id)).every(({ state }) => state === 'delivered'),
    )
  }
  assert.equal(new Set(returned).size, 2)
  assert.deepEqual(reached, [])
})
