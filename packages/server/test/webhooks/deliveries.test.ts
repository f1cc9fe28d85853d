import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { Webhook, WebhookDelivery } from '@countersign/protocol'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { type Cleanup, claimAgent, postJson } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { payloadOf, signatureOf, signedBytesOf } from './support/receiver.ts'
import {
  logOf,
  reactivate,
  startWebhookService,
  suspend,
  type WebhookService,
  webhookOf,
} from './support/webhook-world.ts'

const cleanups: (() => unknown)[] = []
const file: Cleanup = { after: (end) => cleanups.unshift(end) }
let hooks: WebhookService

suite('deliveries', () => {
  before(async () => {
    hooks = await startWebhookService(file)
  })
  after(async () => {
    for (const end of cleanups) await end()
  })

  test('events are delivered in order, as standardwebhooks and node:crypto verify them', async () => {
    const world = await hooks.newWorld()
    const { owner, receiver, webhook } = world
    const stranger = await hooks.newWorld()
    const did = await claimAgent(hooks.service, owner.ownerId)
    await suspend(world, did)
    await reactivate(world, did)
    // A profile is not among the events.
    assert.equal(
      (await owner.send('PATCH', `/api/account/agents/${did}`, { description: 'Mine' })).status,
      200,
    )
    await suspend(world, did)
    await hooks.untilReceived(world, 4)
    await hooks.untilDone(world)

    const payloads = receiver.received.map(payloadOf)
    const seqs = payloads.map(({ data }) => Number(data.seq))
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    )
    const types = payloads.map(({ type }) => type).filter((type) => type !== 'agent.grade_changed')
    assert.deepEqual(types, [
      'agent.claimed',
      'agent.suspended',
      'agent.reactivated',
      'agent.suspended',
    ])
    assert.equal(stranger.receiver.received.length, 0, 'owners get the events of their own agents')

    const [first] = receiver.received
    assert.ok(first)
    assert.deepEqual(JSON.parse(first.body), {
      type: 'agent.claimed',
      timestamp: payloads[0]?.timestamp,
      data: {
        endpoint: webhook.id,
        seq: seqs[0],
        svcDid: did,
        url: `${hooks.service.url}/api/v1/agent/${did}`,
      },
    })
    assert.equal((await fetch(payloads[0]?.data.url as string)).status, 200)

    const headers = Object.fromEntries(
      Object.entries(first.headers).map(([name, value]) => [name, String(value)]),
    )
    const verifier = new StandardWebhook(webhook.secret)
    assert.deepEqual(verifier.verify(first.body, headers), payloads[0])
    const forged = first.body.replace('agent.claimed', 'agent.revoked')
    assert.throws(() => verifier.verify(forged, headers), /No matching signature/)
    assert.throws(
      () => new StandardWebhook(stranger.webhook.secret).verify(first.body, headers),
      /No matching/,
    )

    const jwk = {
      kty: 'OKP',
      crv: 'Ed25519',
      x: Buffer.from(webhook.publicKey.slice(5), 'base64').toString('base64url'),
    }
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const asymmetric = signatureOf(first, 'v1a')
    assert.equal(verify(null, signedBytesOf(first), key, asymmetric), true)
    assert.equal(verify(null, signedBytesOf({ ...first, body: forged }), key, asymmetric), false)
    assert.match(String(first.headers['user-agent']), /^Countersign\//)
  })

  test('a signature of a delivery is useless elsewhere: its key is no agent and in no key set', async () => {
    const world = await hooks.newWorld()
    const { owner, receiver, webhook } = world
    await claimAgent(hooks.service, owner.ownerId)
    await hooks.untilReceived(world, 1)
    const [delivery] = receiver.received
    assert.ok(delivery)
    const publicKey = webhook.publicKey.slice('whpk_'.length)
    const signature = signatureOf(delivery, 'v1a').toString('base64')
    const challenge = signedBytesOf(delivery).toString()
    const verified = await postJson(`${hooks.service.url}/api/v1/agent/verify`, {
      publicKey,
      challenge,
      signature,
    })
    assert.equal(verified.status, 404, 'the signature is valid, but certifies nobody')
    const claimToken = await hooks.service.operator.issueToken(owner.ownerId)
    const claim = await postJson(`${hooks.service.url}/api/v1/claim`, {
      claimToken,
      agentId: challenge.slice(0, 100),
      publicKey,
      signature,
    })
    assert.equal(claim.status, 401)
    const x = Buffer.from(publicKey, 'base64').toString('base64url')
    for (const path of [
      '/.well-known/http-message-signatures-directory',
      '/.well-known/jwks.json',
    ]) {
      assert.ok(!(await (await fetch(hooks.service.url + path)).text()).includes(x), path)
    }
    // The v1 secret is not the service's key either, and the database has no secret.
    const stored = await textOfTables(hooks.service.settings)
    for (const secret of [webhook.secret, webhook.secret.slice(6)])
      assert.ok(!stored.includes(secret))
    const raw = Buffer.from(webhook.secret.slice(6), 'base64').toString('latin1')
    assert.ok(!stored.includes(raw))
  })

  test('only the chosen types are delivered; a paused endpoint gets later what happened meanwhile', async () => {
    const world = await hooks.newWorld(['agent.suspended', 'agent.reactivated'])
    const { owner, receiver, path } = world
    const did = await claimAgent(hooks.service, owner.ownerId)
    await suspend(world, did)
    await hooks.untilReceived(world, 1)
    await hooks.untilDone(world)
    const paused = jsonOf<Webhook>(await owner.send('PATCH', path, { state: 'paused' }))
    assert.equal(paused.state, 'paused')
    await reactivate(world, did)
    await untilTicked(hooks.service, async () => (await webhookOf(world)).pending === 1)
    assert.equal(receiver.received.length, 1)
    await owner.send('PATCH', path, { state: 'active' })
    await hooks.untilReceived(world, 2)
    await hooks.untilDone(world)
    const types = receiver.received.map((each) => payloadOf(each).type)
    assert.deepEqual(types, ['agent.suspended', 'agent.reactivated'])
    assert.equal((await webhookOf(world)).pending, 0)
  })

  test('a failing delivery is retried with the same webhook-id, and later events wait for it', async () => {
    const world = await hooks.newWorld(['agent.suspended', 'agent.reactivated'])
    const { owner, receiver, path } = world
    receiver.behaviour = 500
    const did = await claimAgent(hooks.service, owner.ownerId)
    await suspend(world, did)
    await reactivate(world, did)
    await untilTicked(hooks.service, async () => (await webhookOf(world)).failingSince !== null)
    assert.equal(receiver.received.length, 1, 'the second event waits for the first')
    const { nextAttemptAt, pending } = await webhookOf(world)
    assert.equal(pending, 2)
    assert.ok(nextAttemptAt !== null)
    const [newest, failed] = await logOf(world)
    assert.deepEqual([newest?.attempts, failed?.attempts], [0, 1])
    assert.equal(failed?.status, 500)
    assert.equal(failed?.problem, 'localhost answers with 500.')
    assertRefused(await owner.post(`${path}/deliveries/${failed?.id}/redeliver`), 409, 'CONFLICT')
    receiver.behaviour = 200
    hooks.clock.ahead += 20_000
    await hooks.untilReceived(world, 3)
    await hooks.untilDone(world)
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.equal(ids[0], ids[1])
    assert.notEqual(ids[1], ids[2])
    assert.deepEqual(
      receiver.received.map((each) => payloadOf(each).type),
      ['agent.suspended', 'agent.suspended', 'agent.reactivated'],
    )
    const recovered = await webhookOf(world)
    assert.equal(recovered.failingSince, null)
    assert.ok(recovered.lastDeliveredAt !== null)
  })

  test('test deliveries and redeliveries are sent at once; their number is limited', async () => {
    const world = await hooks.newWorld()
    const { owner, receiver, path } = world
    const sent = jsonOf<WebhookDelivery>(await owner.post(`${path}/test`))
    assert.deepEqual(
      [sent.type, sent.seq, sent.svcDid, sent.state, sent.status, sent.attempts],
      ['webhook.test', null, null, 'delivered', 204, 1],
    )
    const [tested] = receiver.received
    assert.ok(tested)
    assert.deepEqual(payloadOf(tested).data, { endpoint: world.webhook.id })
    assert.equal(tested.headers['webhook-id'], sent.id)

    const again = jsonOf<WebhookDelivery>(
      await owner.post(`${path}/deliveries/${sent.id}/redeliver`),
    )
    assert.equal(again.attempts, 2)
    assert.equal(receiver.received[1]?.headers['webhook-id'], sent.id)
    receiver.behaviour = (response) => response.writeHead(302, { location: '/elsewhere' }).end()
    const redirected = jsonOf<WebhookDelivery>(await owner.post(`${path}/test`))
    assert.deepEqual([redirected.state, redirected.status], ['failed', 302])
    assert.match(redirected.problem ?? '', /redirect \(302\), which is not followed/)
    assert.ok(receiver.received.every((each) => each.path === '/hook'))
    assert.deepEqual(
      (await logOf(world, '?state=failed')).map(({ id }) => id),
      [redirected.id],
    )
    assertRefused(await owner.post(`${path}/deliveries/msg_unknown/redeliver`), 404, 'NOT_FOUND')

    let refused = await owner.post(`${path}/test`)
    for (let i = 0; i < 40 && refused.status === 200; i++)
      refused = await owner.post(`${path}/test`)
    assertRefused(refused, 429, 'RATE_LIMITED', /sent by hand/)
    assert.equal(receiver.received.length, 30)
  })

  test('410 disables an endpoint and notifies its owner; activated again, it goes on where it stopped', async () => {
    const world = await hooks.newWorld(['agent.claimed', 'agent.suspended', 'agent.reactivated'])
    const { owner, receiver, path } = world
    receiver.behaviour = 410
    const did = await claimAgent(hooks.service, owner.ownerId)
    await untilTicked(hooks.service, async () => (await webhookOf(world)).state === 'disabled')
    assert.equal((await webhookOf(world)).disabledReason, 'gone')
    const { notifications } = jsonOf<{
      notifications: { kind: string; title: string; text: string; link: string }[]
    }>(await owner.get('/api/account/notifications'))
    const notice = notifications.find(({ kind }) => kind === 'webhook_disabled')
    assert.match(notice?.title ?? '', /^Your webhook endpoint at localhost:\d+ was disabled$/)
    assert.match(notice?.text ?? '', /410/)
    assert.equal(notice?.link, `/dashboard/webhooks/${world.webhook.id}`)
    // What happens while it is disabled is not delivered later.
    await suspend(world, did)
    receiver.behaviour = 204
    const active = jsonOf<Webhook>(await owner.send('PATCH', path, { state: 'active' }))
    assert.deepEqual([active.state, active.disabledReason, active.pending], ['active', null, 1])
    await reactivate(world, did)
    await hooks.untilReceived(world, 3)
    await hooks.untilDone(world)
    assert.deepEqual(
      receiver.received.map((each) => payloadOf(each).type),
      ['agent.claimed', 'agent.claimed', 'agent.reactivated'],
    )
  })
})
