import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import type {
  AccountExport,
  CreatedApiKey,
  CreatedWebhook,
  Webhook,
  WebhookDeliveries,
  WebhookDelivery,
  Webhooks,
} from '@countersign/protocol'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import {
  type Cleanup,
  claimAgent,
  postJson,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import {
  payloadOf,
  type Receiver,
  signatureOf,
  signedBytesOf,
  startReceiver,
} from './support/receiver.ts'

const WEBHOOKS = '/api/account/webhooks'
const clock = { ahead: 0 }
const cleanups: (() => unknown)[] = []
const file: Cleanup = { after: (end) => cleanups.unshift(end) }
let service: TestService

before(async () => {
  // It stands still, so that nothing is due because a machine is slow.
  const start = Date.now()
  service = await startTestService(file, {}, () => start + clock.ahead)
})
after(async () => {
  for (const end of cleanups) await end()
})

interface World {
  readonly owner: SignedInOwner
  readonly receiver: Receiver
  readonly webhook: CreatedWebhook
  readonly path: string
}

async function newOwner(): Promise<SignedInOwner> {
  return signIn(service, await service.operator.addVerifiedOwner())
}

async function newWorld(eventTypes: readonly string[] | null = null): Promise<World> {
  const [owner, receiver] = [await newOwner(), await startReceiver(file)]
  const created = await owner.post(WEBHOOKS, { url: receiver.url, eventTypes })
  assert.equal(created.status, 201, created.text)
  const webhook = jsonOf<CreatedWebhook>(created)
  return { owner, receiver, webhook, path: `${WEBHOOKS}/${webhook.id}` }
}

const untilReceived = ({ receiver }: World, count: number) =>
  untilTicked(service, async () => receiver.received.length >= count)

async function webhookOf({ owner, webhook }: World): Promise<Webhook> {
  const { webhooks } = jsonOf<Webhooks>(await owner.get(WEBHOOKS))
  return webhooks.find(({ id }) => id === webhook.id) as Webhook
}

async function logOf({ owner, path }: World, query = ''): Promise<WebhookDeliveries['deliveries']> {
  return jsonOf<WebhookDeliveries>(await owner.get(`${path}/deliveries${query}`)).deliveries
}

/** Everything is delivered, and its results are recorded. */
const untilDone = (world: World) =>
  untilTicked(service, async () => (await logOf(world)).every(({ state }) => state === 'delivered'))

async function suspend({ owner }: World, did: string): Promise<void> {
  assert.equal((await owner.post(`/api/account/agents/${did}/suspend`, {})).status, 200)
}

async function reactivate({ owner }: World, did: string): Promise<void> {
  assert.equal((await owner.post(`/api/account/agents/${did}/reactivate`, {})).status, 200)
}

test('events are delivered in order, as standardwebhooks and node:crypto verify them', async () => {
  const world = await newWorld()
  const { owner, receiver, webhook } = world
  const stranger = await newWorld()
  const did = await claimAgent(service, owner.ownerId)
  await suspend(world, did)
  await reactivate(world, did)
  // A profile is not among the events.
  assert.equal(
    (await owner.send('PATCH', `/api/account/agents/${did}`, { description: 'Mine' })).status,
    200,
  )
  await suspend(world, did)
  await untilReceived(world, 4)
  await untilDone(world)

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
      url: `${service.url}/api/v1/agent/${did}`,
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
  const world = await newWorld()
  const { owner, receiver, webhook } = world
  await claimAgent(service, owner.ownerId)
  await untilReceived(world, 1)
  const [delivery] = receiver.received
  assert.ok(delivery)
  const publicKey = webhook.publicKey.slice('whpk_'.length)
  const signature = signatureOf(delivery, 'v1a').toString('base64')
  const challenge = signedBytesOf(delivery).toString()
  const verified = await postJson(`${service.url}/api/v1/agent/verify`, {
    publicKey,
    challenge,
    signature,
  })
  assert.equal(verified.status, 404, 'the signature is valid, but certifies nobody')
  const claimToken = await service.operator.issueToken(owner.ownerId)
  const claim = await postJson(`${service.url}/api/v1/claim`, {
    claimToken,
    agentId: challenge.slice(0, 100),
    publicKey,
    signature,
  })
  assert.equal(claim.status, 401)
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  for (const path of ['/.well-known/http-message-signatures-directory', '/.well-known/jwks.json']) {
    assert.ok(!(await (await fetch(service.url + path)).text()).includes(x), path)
  }
  // The v1 secret is not the service's key either, and the database has no secret.
  const stored = await textOfTables(service.settings)
  for (const secret of [webhook.secret, webhook.secret.slice(6)])
    assert.ok(!stored.includes(secret))
  const raw = Buffer.from(webhook.secret.slice(6), 'base64').toString('latin1')
  assert.ok(!stored.includes(raw))
})

test('only the chosen types are delivered; a paused endpoint gets later what happened meanwhile', async () => {
  const world = await newWorld(['agent.suspended', 'agent.reactivated'])
  const { owner, receiver, path } = world
  const did = await claimAgent(service, owner.ownerId)
  await suspend(world, did)
  await untilReceived(world, 1)
  await untilDone(world)
  const paused = jsonOf<Webhook>(await owner.send('PATCH', path, { state: 'paused' }))
  assert.equal(paused.state, 'paused')
  await reactivate(world, did)
  await untilTicked(service, async () => (await webhookOf(world)).pending === 1)
  assert.equal(receiver.received.length, 1)
  await owner.send('PATCH', path, { state: 'active' })
  await untilReceived(world, 2)
  await untilDone(world)
  const types = receiver.received.map((each) => payloadOf(each).type)
  assert.deepEqual(types, ['agent.suspended', 'agent.reactivated'])
  assert.equal((await webhookOf(world)).pending, 0)
})

test('a failing delivery is retried with the same webhook-id, and later events wait for it', async () => {
  const world = await newWorld(['agent.suspended', 'agent.reactivated'])
  const { owner, receiver, path } = world
  receiver.behaviour = 500
  const did = await claimAgent(service, owner.ownerId)
  await suspend(world, did)
  await reactivate(world, did)
  await untilTicked(service, async () => (await webhookOf(world)).failingSince !== null)
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
  clock.ahead += 20_000
  await untilReceived(world, 3)
  await untilDone(world)
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
  const world = await newWorld()
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

  const again = jsonOf<WebhookDelivery>(await owner.post(`${path}/deliveries/${sent.id}/redeliver`))
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
  for (let i = 0; i < 40 && refused.status === 200; i++) refused = await owner.post(`${path}/test`)
  assertRefused(refused, 429, 'RATE_LIMITED', /sent by hand/)
  assert.equal(receiver.received.length, 30)
})

test('410 disables an endpoint and notifies its owner; activated again, it goes on where it stopped', async () => {
  const world = await newWorld(['agent.claimed', 'agent.suspended', 'agent.reactivated'])
  const { owner, receiver, path } = world
  receiver.behaviour = 410
  const did = await claimAgent(service, owner.ownerId)
  await untilTicked(service, async () => (await webhookOf(world)).state === 'disabled')
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
  await untilReceived(world, 3)
  await untilDone(world)
  assert.deepEqual(
    receiver.received.map((each) => payloadOf(each).type),
    ['agent.claimed', 'agent.claimed', 'agent.reactivated'],
  )
})

test('URLs that the service may not send to are refused', async () => {
  const owner = await newOwner()
  const refusals: readonly (readonly [string, RegExp])[] = [
    ['not a url', /The URL is not valid/],
    ['http://example.com/hook', /must use https/],
    ['https://example.com:8443/hook', /port 443/],
    ['https://user:secret@example.com/hook', /user name or a password/],
    ['https://169.254.169.254/latest', /not the name of a host/],
    ['https://[::1]/hook', /not the name of a host/],
    ['https://2130706433/hook', /not the name of a host/],
    ['https://localhost/hook', /not the name of a host/],
    ['ftp://example.com/', /must use https/],
    [`http://localhost/${'a'.repeat(1100)}`, /url must/],
  ]
  for (const [url, message] of refusals) {
    assertRefused(await owner.post(WEBHOOKS, { url }), 400, 'VALIDATION_ERROR', message)
  }
  const { receiver, path, owner: other } = await newWorld()
  assertRefused(
    await other.send('PATCH', path, { url: 'https://10.0.0.1/' }),
    400,
    'VALIDATION_ERROR',
  )
  assertRefused(
    await other.post(WEBHOOKS, { url: receiver.url, eventTypes: ['agent.updated'] }),
    400,
    'VALIDATION_ERROR',
  )
  assertRefused(
    await other.post(WEBHOOKS, { url: receiver.url, eventTypes: [] }),
    400,
    'VALIDATION_ERROR',
  )
})

test('endpoints belong to their owner, who can have ten, also by an API key, and export and delete them', async () => {
  const world = await newWorld()
  const { owner, receiver, webhook, path } = world
  const mallory = await newOwner()
  assert.deepEqual(jsonOf<Webhooks>(await mallory.get(WEBHOOKS)).webhooks, [])
  for (const refused of [
    await mallory.send('PATCH', path, { state: 'paused' }),
    await mallory.send('DELETE', path),
    await mallory.get(`${path}/deliveries`),
    await mallory.post(`${path}/test`),
  ]) {
    assertRefused(refused, 404, 'NOT_FOUND')
  }
  for (let i = 1; i < 10; i++) {
    assert.equal((await owner.post(WEBHOOKS, { url: receiver.url })).status, 201)
  }
  assertRefused(await owner.post(WEBHOOKS, { url: receiver.url }), 409, 'CONFLICT')

  const scopes = ['webhooks:read']
  const key = jsonOf<CreatedApiKey>(
    await owner.post('/api/account/api-keys', { name: 'CI', scopes }),
  )
  const headers = { authorization: `Bearer ${key.secret}` }
  const listed = jsonOf<Webhooks>(await ask(service, WEBHOOKS, { headers }))
  assert.equal(listed.webhooks.length, 10)
  assert.equal(listed.publicKey, webhook.publicKey)
  assert.ok(!JSON.stringify(listed).includes('whsec_'))
  assertRefused(await ask(service, path, { method: 'DELETE', headers }), 403, 'FORBIDDEN')

  await owner.post(`${path}/test`)
  const account = jsonOf<AccountExport>(await owner.get('/api/account/export'))
  const exported = account.webhooks.find(({ id }) => id === webhook.id)
  assert.equal(exported?.deliveries.length, 1)
  assert.ok(!JSON.stringify(account).includes('whsec_'))

  assert.equal((await owner.send('DELETE', path)).status, 204)
  assertRefused(await owner.get(`${path}/deliveries`), 404, 'NOT_FOUND')
  const { username } = account.owner
  const deletion = await owner.post('/api/account/deletion', { username })
  assert.equal(deletion.status, 200, deletion.text)
  const { read } = service.operator.db
  for (const table of ['webhook_endpoints', 'webhook_deliveries'] as const) {
    const rows = await read.selectFrom(table).selectAll().execute()
    assert.ok(
      rows.every((row) => !('owner_id' in row) || row.owner_id !== owner.ownerId),
      table,
    )
  }
})

/** Asserts which secrets verify the newest delivery: by standardwebhooks, which takes any signature of the header. */
function assertVerifiedBy({ receiver }: World, secrets: readonly (readonly [string, boolean])[]) {
  const { headers, body } = receiver.received.at(-1) ?? assert.fail('nothing was delivered')
  const text = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value)]),
  )
  for (const [i, [secret, verifies]] of secrets.entries()) {
    // The clock of the test is ahead of that of the library.
    const at = Number(text['webhook-timestamp'])
    const signed = `${text['webhook-id']}.${at}.${body}`
    const own = new StandardWebhook(secret).sign(
      text['webhook-id'] ?? '',
      new Date(at * 1000),
      body,
    )
    assert.equal(text['webhook-signature']?.split(' ').includes(own), verifies, `${i}: ${signed}`)
  }
}

// The last test, because it moves the clock on.
test('after a rotation of the secret, both secrets sign for a day, then the new one; 0 hours end the old one at once', async () => {
  const world = await newWorld()
  const { owner, receiver, webhook, path } = world
  const sendTest = async () => assert.equal((await owner.post(`${path}/test`)).status, 200)
  const rotate = async (body: object = {}) => {
    const answer = await owner.post(`${path}/rotate-secret`, body)
    assert.equal(answer.status, 200, answer.text)
    return jsonOf<CreatedWebhook>(answer)
  }
  await sendTest()
  const before = receiver.received.at(-1)
  assert.ok(before)
  assert.equal(String(before.headers['webhook-signature']).split(' ').length, 2)

  const second = await rotate()
  assert.equal(second.id, webhook.id)
  assert.notEqual(second.secret, webhook.secret)
  const days = (Date.parse(second.previousSecretUntil ?? '') - Date.parse(second.createdAt)) / 864e5
  assert.equal(days, 1)
  assert.equal((await webhookOf(world)).previousSecretUntil, second.previousSecretUntil)
  await sendTest()
  const signatures = String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ')
  assert.deepEqual(
    signatures.map((each) => each.split(',')[0]),
    ['v1', 'v1', 'v1a'],
  )
  assertVerifiedBy(world, [
    [webhook.secret, true],
    [second.secret, true],
  ])
  // Events too, not only tests.
  await claimAgent(service, owner.ownerId)
  await untilReceived(world, 3)
  assertVerifiedBy(world, [
    [webhook.secret, true],
    [second.secret, true],
  ])

  const third = await rotate({ overlapHours: 1 })
  await sendTest()
  assertVerifiedBy(world, [
    [webhook.secret, false],
    [second.secret, true],
    [third.secret, true],
  ])
  clock.ahead += 3_600_001
  await sendTest()
  assertVerifiedBy(world, [
    [second.secret, false],
    [third.secret, true],
  ])
  assert.equal((await webhookOf(world)).previousSecretUntil, null)

  const fourth = await rotate({ overlapHours: 0 })
  assert.equal(fourth.previousSecretUntil, null)
  await sendTest()
  assertVerifiedBy(world, [
    [third.secret, false],
    [fourth.secret, true],
  ])

  assertRefused(
    await owner.post(`${path}/rotate-secret`, { overlapHours: 169 }),
    400,
    'VALIDATION_ERROR',
  )
  const stranger = await newOwner()
  assertRefused(await stranger.post(`${path}/rotate-secret`, {}), 404, 'NOT_FOUND')
  assert.equal((await webhookOf(world)).previousSecretUntil, null)
  const stored = await textOfTables(service.settings)
  for (const { secret } of [second, third, fourth]) assert.ok(!stored.includes(secret.slice(6)))
})
