import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentHistory, CreatedWebhook } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import {
  approve,
  askApproval,
  asked,
  deny,
  newApprovalWorld,
  order,
} from '../../../../../test/support/approvals.ts'
import { fileCleanup } from '../../../../../test/support/file-cleanup.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { scraping } from '../../http/metrics/support/scrape.ts'
import { openStream } from '../../pages/dashboard/event-source.ts'
import { payloadOf, startReceiver } from '../../webhooks/support/receiver.ts'
import { WEBHOOKS } from '../../webhooks/support/webhook-world.ts'

const cleanup = fileCleanup()
/** Stands still unless a test moves it. */
const clock = { at: Date.now(), now: () => clock.at }
const now = () => ({ createdAt: clock.now() })

test('the stream and the webhooks of the owner get both events, without what was asked', async () => {
  const service = await startTestService(cleanup, {}, clock.now)
  const [world, stranger] = [
    await newApprovalWorld(service, clock.now),
    await newApprovalWorld(service, clock.now),
  ]
  const { owner, did } = world
  const [receiver, elsewhere] = [await startReceiver(cleanup), await startReceiver(cleanup)]
  const types = ['agent.approval_requested', 'agent.approval_decided']
  const made = await owner.post(WEBHOOKS, { url: receiver.url, eventTypes: types })
  assert.equal(made.status, 201, made.text)
  const all = await stranger.owner.post(WEBHOOKS, { url: elsewhere.url })
  assert.equal(all.status, 201, all.text)
  const [stream, others] = [
    await openStream(service, owner),
    await openStream(service, stranger.owner),
  ]

  const { id } = await asked(world, { ...order(1), message: 'Printer paper' }, now())
  // Asked once more, it is the same question.
  assert.equal(
    (await askApproval(world, { ...order(1), message: 'Printer paper' }, now())).status,
    200,
  )
  assert.equal((await approve(world, id)).status, 200)
  const second = await asked(world, order(2), now())
  assert.equal((await deny(world, second.id)).status, 200)
  const theirs = await claimAgent(service, stranger.owner.ownerId, newKey(), 'other')

  const expected = [...types, ...types]
  for (const type of expected) {
    const event = await stream.next()
    const { at, ...data } = event?.data ?? {}
    assert.deepEqual([event?.event, data], [type, { svcDid: did, type }])
    assert.ok(at !== undefined)
  }
  assert.equal((await others.next())?.data.svcDid, theirs, 'the first that the other is told')
  for (const each of [stream, others]) await each.close()

  await untilTicked(service, async () => receiver.received.length >= 4)
  const { id: endpoint } = jsonOf<CreatedWebhook>(made)
  const payloads = receiver.received.map(payloadOf)
  const url = `${service.url}/api/v1/agent/${did}`
  assert.deepEqual(
    payloads.map(({ type, data: { seq: _, ...data } }) => [type, data]),
    expected.map((type) => [type, { endpoint, svcDid: did, url }]),
  )
  await untilTicked(service, async () => elsewhere.received.length >= 1)
  assert.deepEqual(
    elsewhere.received.map(payloadOf).map(({ data }) => data.svcDid),
    [theirs],
  )
  const { events } = jsonOf<AgentHistory>(await owner.get(`/api/account/agents/${did}/history`))
  assert.deepEqual(
    events
      .map(({ type }) => type)
      .filter((type) => types.includes(type))
      .toReversed(),
    expected,
  )
  const sent = JSON.stringify([receiver.received.map(({ body }) => body), events])
  assert.doesNotMatch(sent, /129|Printer|shop\.example|ap_/)
})

test('questions and decisions are counted, with the time that the agent has waited', async () => {
  const { env, scrape } = await scraping()
  const service = await startTestService(cleanup, env, clock.now)
  const name = 'countersign_approval_decision_seconds'
  const counts = async () => {
    const series = await scrape()
    return [
      ...['pending', 'approved', 'denied'].map((state) =>
        series.get(`countersign_approvals_total{state="${state}"}`),
      ),
      series.get(`${name}_count`),
      series.get(`${name}_sum`),
    ]
  }
  assert.deepEqual(await counts(), [0, 0, 0, 0, 0])
  const world = await newApprovalWorld(service, clock.now)
  const [first, second] = [await asked(world, order(1), now()), await asked(world, order(2), now())]
  assert.equal((await askApproval(world, order(2), now())).status, 200)
  assert.deepEqual(await counts(), [2, 0, 0, 0, 0])
  clock.at += 30_000
  assert.equal((await approve(world, first.id)).status, 200)
  clock.at += 20_000
  assert.equal((await deny(world, second.id)).status, 200)
  // What is refused is not counted.
  assert.equal((await deny(world, first.id)).status, 409)
  assert.equal((await approve(world, second.id)).status, 409)
  assert.deepEqual(await counts(), [2, 1, 1, 2, 80])
})
