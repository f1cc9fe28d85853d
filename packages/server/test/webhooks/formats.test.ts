import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import {
  type AccountEvents,
  type CreatedWebhook,
  type OcsfEvent,
  SET_EVENT_TYPES,
  TOKEN_TYPES,
  verifyToken,
  type WebhookDelivery,
} from '@countersign/protocol'
import { jwtVerify } from 'jose'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import {
  certificateOf,
  decodeJws,
  keySetOf,
  verifyWithJwk,
} from '../../../../test/support/agent-certificates.ts'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { assertOcsf } from '../../../../test/support/ocsf-schema.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { type Cleanup, claimAgent, startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import type { Received } from './support/receiver.ts'
import { startReceiver } from './support/receiver.ts'
import { receiveSet, type SetReceiverSettings } from './support/set-receiver.ts'
import {
  logOf,
  reactivate,
  startWebhookService,
  suspend,
  WEBHOOKS,
  type WebhookService,
  type World,
  webhookOf,
} from './support/webhook-world.ts'

const cleanups: (() => unknown)[] = []
const file: Cleanup = { after: (end) => cleanups.unshift(end) }
let hooks: WebhookService

const headersOf = ({ headers }: Received) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
const ocsfOf = ({ body }: Received) => JSON.parse(body) as OcsfEvent

async function pulled({ owner }: World): Promise<AccountEvents['events']> {
  return jsonOf<AccountEvents>(await owner.get('/api/account/events?limit=500')).events
}

async function sendTest({ owner, path }: World): Promise<WebhookDelivery> {
  return jsonOf<WebhookDelivery>(await owner.post(`${path}/test`))
}

/** What a token says of when, to whom and of what. */
interface SetClaims {
  readonly jti: string
  readonly iat: number
  readonly aud: string
  readonly txn: string
  readonly sub_id: object
  readonly events: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
const claimsOf = ({ body }: Received) => decodeJws(body).claims as unknown as SetClaims
const eventOf = (received: Received) => Object.entries(claimsOf(received).events)[0] ?? []

const PREFIX = 'https://schemas.openid.net/secevent/'

suite('formats of webhook endpoints', () => {
  before(async () => {
    hooks = await startWebhookService(file)
  })
  after(async () => {
    for (const end of cleanups) await end()
  })

  test('ocsf: the events are valid, signed, and have the identifiers of those that are pulled', async () => {
    const authorization = 'Splunk 11111111-2222-3333-4444-555555555555'
    const world = await hooks.newWorld(null, { format: 'ocsf', authorization })
    const { owner, receiver, webhook } = world
    const did = await claimAgent(hooks.service, owner.ownerId)
    await suspend(world, did)
    await reactivate(world, did)
    await owner.post(`/api/account/agents/${did}/keys/compromised`, { sequence: 1 })
    const isDelivered = ({ type }: { type: string }) => /^agent\./.test(type)
    const expected = (await pulled(world)).filter(isDelivered)
    await hooks.untilReceived(world, expected.length)
    await hooks.untilDone(world)
    const events = receiver.received.map(ocsfOf)
    for (const event of events) assertOcsf(event)
    assert.deepEqual(
      events.map(({ metadata, message, time }) => [metadata.uid, message, time]),
      expected.map(({ cursor, type, at }) => [cursor, type, Date.parse(at)]),
    )
    assert.deepEqual(events[0]?.entity, { uid: did, type_id: 99, type: 'AI Agent' })
    assert.ok(events.every((event) => !('unmapped' in event)))
    const compromised = events.find(({ message }) => message === 'agent.key_compromised')
    assert.deepEqual([compromised?.class_uid, compromised?.severity_id], [2004, 4])
    const verifier = new StandardWebhook(webhook.secret)
    for (const each of receiver.received) {
      verifier.verify(each.body, headersOf(each))
      assert.equal(each.headers.authorization, authorization)
      assert.equal(each.headers['content-type'], 'application/json')
    }

    assert.equal((await sendTest(world)).state, 'delivered')
    const tested = ocsfOf(receiver.received.at(-1) as Received)
    assertOcsf(tested)
    assert.deepEqual([tested.activity_name, tested.entity?.uid], ['webhook.test', webhook.id])
  })

  test('set: each event of the table is one token, which jose verifies and RFC 8935 delivers', async () => {
    const audience = 'https://soc.example/ssf'
    const world = await hooks.newWorld(null, { format: 'set', audience })
    const { owner, receiver, webhook, path } = world
    assert.equal(webhook.secret, null)
    const issuer = hooks.service.url
    const expects: SetReceiverSettings = { issuer, audience, authorization: undefined }
    receiver.behaviour = (response, each) => void receiveSet(expects, each, response)
    const second = await startReceiver(file)
    await owner.post(WEBHOOKS, { url: second.url, format: 'set' })

    const did = await claimAgent(hooks.service, owner.ownerId)
    await suspend(world, did)
    await reactivate(world, did)
    await owner.post(`/api/account/agents/${did}/keys/compromised`, { sequence: 1 })
    await owner.post(`/api/account/agents/${did}/revoke`)
    const isSet = ({ type }: { type: string }) => SET_EVENT_TYPES.includes(type as never)
    const expected = (await pulled(world)).filter(isSet)
    await hooks.untilReceived(world, expected.length)
    await hooks.untilDone(world)
    assert.deepEqual(
      (await logOf(world)).map(({ state, status }) => [state, status]),
      expected.map(() => ['delivered', 202]),
    )

    const at = Math.floor((Date.parse(expected[0]?.at ?? '') as number) / 1000)
    const credential = { credential_type: 'verifiable-credential' }
    const change = `${PREFIX}caep/event-type/credential-change`
    const disabled = `${PREFIX}risc/event-type/account-disabled`
    assert.deepEqual(receiver.received.map(eventOf), [
      [change, { ...credential, change_type: 'create', event_timestamp: at }],
      [disabled, {}],
      [`${PREFIX}risc/event-type/account-enabled`, {}],
      [disabled, {}],
      [`${PREFIX}risc/event-type/credential-compromise`, { ...credential, event_timestamp: at }],
      [change, { ...credential, change_type: 'revoke', event_timestamp: at }],
    ])
    for (const [i, each] of receiver.received.entries()) {
      const { jti, iat, aud, txn, sub_id, events, ...rest } = claimsOf(each)
      assert.deepEqual(rest, { iss: issuer }, 'neither sub nor exp nor nbf')
      assert.deepEqual(sub_id, { format: 'iss_sub', iss: issuer, sub: did })
      assert.deepEqual([aud, txn, iat], [audience, expected[i]?.cursor, at])
      assert.equal(Object.keys(events).length, 1)
      const { accept, 'content-type': type, 'user-agent': agent, ...others } = each.headers
      assert.deepEqual([accept, type], ['application/json', 'application/secevent+jwt'])
      assert.match(String(agent), /^Countersign/)
      assert.deepEqual(
        Object.keys(others).filter((name) => name.startsWith('webhook')),
        [],
      )
      assert.ok((await logOf(world)).some(({ id }) => id === jti))
    }
    // The other endpoint: the same transactions, its own audience and ids.
    await hooks.untilReceived({ ...world, receiver: second }, expected.length)
    const others = second.received.map(claimsOf)
    assert.deepEqual(
      others.map(({ txn }) => txn),
      receiver.received.map((each) => claimsOf(each).txn),
    )
    assert.ok(others.every(({ aud }) => aud === second.url))
    assert.notEqual(others[0]?.jti, claimsOf(receiver.received[0] as Received).jti)

    // An attempt a day later has the same bytes.
    const [last] = await logOf(world)
    hooks.clock.ahead += 86_400_000
    await owner.post(`${path}/deliveries/${last?.id}/redeliver`)
    assert.equal(receiver.received.at(-1)?.body, receiver.received.at(-2)?.body)
    hooks.clock.ahead -= 86_400_000

    assert.deepEqual([(await sendTest(world)).status], [202])
    const verification = receiver.received.at(-1) as Received
    assert.deepEqual(claimsOf(verification).sub_id, { format: 'opaque', id: webhook.id })
    assert.deepEqual(eventOf(verification), [`${PREFIX}ssf/event-type/verification`, {}])
    assert.ok(!('txn' in claimsOf(verification)))
  })

  test('set: what a receiver objects to is in the log, whatever else it answers is not', async () => {
    const audience = 'https://soc.example/ssf'
    const authorization = 'Bearer abc'
    const world = await hooks.newWorld(null, { format: 'set', audience, authorization })
    const { receiver } = world
    const issuer = hooks.service.url
    const right = { issuer, audience, authorization }
    const keys = await startTestService(file)
    const objections: readonly (readonly [Partial<SetReceiverSettings>, string])[] = [
      [
        { issuer: 'https://other.example', jwksUri: `${issuer}/.well-known/jwks.json` },
        'invalid_issuer',
      ],
      [{ audience: 'https://other.example' }, 'invalid_audience'],
      [{ authorization: 'Bearer other' }, 'authentication_failed'],
      [{ jwksUri: `${keys.url}/.well-known/jwks.json` }, 'invalid_key'],
    ]
    for (const [wrong, code] of objections) {
      receiver.behaviour = (response, each) =>
        void receiveSet({ ...right, ...wrong }, each, response)
      const { state, status, problem } = await sendTest(world)
      assert.deepEqual([state, status], ['failed', 400])
      assert.equal(problem, `localhost answers with 400 (${code}).`)
    }
    const json = (err: unknown) => JSON.stringify({ err, description: '<b>x</b>' })
    for (const body of [
      'x'.repeat(1_048_576),
      `${json('invalid_key').slice(0, -1)},"more":"${'x'.repeat(1_048_576)}"}`,
      json('<script>alert(1)</script>'),
      json('Invalid-Key'),
      json('x'.repeat(41)),
      json(['invalid_key']),
      '<html>invalid_key</html>',
      'null',
      '',
    ]) {
      receiver.behaviour = (response) => response.writeHead(400).end(body)
      assert.equal((await sendTest(world)).problem, 'localhost answers with 400.')
    }
    receiver.behaviour = (response) => response.writeHead(403).end(json('access_denied'))
    assert.equal((await sendTest(world)).problem, 'localhost answers with 403.')
  })

  test('a token is accepted in the place of no other, and no other in its place', async () => {
    const world = await hooks.newWorld(null, { format: 'set' })
    const { owner, receiver, webhook } = world
    const did = await claimAgent(hooks.service, owner.ownerId)
    await hooks.untilReceived(world, 1)
    const { body: token } = receiver.received[0] as Received
    const { keys } = await keySetOf(hooks.service)
    const issuer = hooks.service.url
    const now = Math.floor(Date.now() / 1000)
    for (const typ of Object.values(TOKEN_TYPES)) {
      const verified = verifyToken(token, { typ, issuer, keys, now }, verifyWithJwk)
      await assert.rejects(verified, /has the type secevent\+jwt/)
    }
    const key = keys.find(({ kid }) => kid === decodeJws(token).header.kid)
    const expected = { typ: 'secevent+jwt', issuer, audience: webhook.url }
    await jwtVerify(token, key as never, expected)
    const certificate = await certificateOf(hooks.service, did)
    for (const [foreign, options] of [
      [certificate, expected],
      [token, { ...expected, audience: 'https://other.example' }],
    ] as const) {
      await assert.rejects(jwtVerify(foreign, key as never, options), {
        code: 'ERR_JWT_CLAIM_VALIDATION_FAILED',
      })
    }
  })

  test('what does not go with a format is refused, and the format is fixed', async () => {
    const { owner, receiver } = await hooks.newWorld()
    const { url } = receiver
    const refusals: readonly (readonly [object, RegExp])[] = [
      [{ format: 'ocsf', audience: 'x' }, /Only the format set has an audience/],
      [{ audience: 'x' }, /Only the format set has an audience/],
      [{ authorization: 'Bearer x' }, /Only the formats ocsf and set/],
      [{ format: 'set', eventTypes: ['channel.verified'] }, /None of these types becomes/],
      [{ format: 'cef' }, /format/],
      [{ format: 'set', audience: '' }, /audience/],
      [{ format: 'set', audience: 'x'.repeat(301) }, /audience/],
      [{ format: 'set', authorization: 'a\r\nx: y' }, /authorization/],
      [{ format: 'set', authorization: ' a' }, /authorization/],
      [{ format: 'set', authorization: 'x'.repeat(1001) }, /authorization/],
    ]
    for (const [body, message] of refusals) {
      const answer = await owner.post(WEBHOOKS, { url, ...body })
      assertRefused(answer, 400, 'VALIDATION_ERROR')
      assert.match(answer.text, message)
    }
    for (const format of ['ocsf', 'set'] as const) {
      const world = await hooks.newWorld(null, { format })
      const patch = (body: object) => world.owner.send('PATCH', world.path, body)
      const moved = await patch({ format: 'standard' })
      assertRefused(moved, 400, 'VALIDATION_ERROR')
      assert.match(moved.text, /Create another endpoint/)
      assert.equal((await patch({ format, authorization: 'Bearer x' })).status, 200)
      assert.equal((await webhookOf(world)).hasAuthorization, true)
      assert.equal((await patch({ authorization: null })).status, 200)
      const { format: shown, hasAuthorization, audience } = await webhookOf(world)
      assert.deepEqual([shown, hasAuthorization, audience], [format, false, null])
      if (format === 'ocsf') continue
      assert.equal((await patch({ audience: 'https://soc.example' })).status, 200)
      assert.equal((await webhookOf(world)).audience, 'https://soc.example')
      const rotated = await world.owner.post(`${world.path}/rotate-secret`, {})
      assertRefused(rotated, 409, 'CONFLICT')
    }
  })

  test('the value of Authorization is sent to the URL that it was entered for, and shown nowhere', async () => {
    const authorization = 'Bearer hunter2-hunter2-hunter2'
    const world = await hooks.newWorld(null, { format: 'ocsf', authorization })
    const { owner, receiver, path, webhook } = world
    const stored = await textOfTables(hooks.service.settings)
    assert.ok(!stored.includes('hunter2'), 'the database has ciphertext only')
    const answers = [
      await owner.get(WEBHOOKS),
      await owner.send('PATCH', path, { eventTypes: null }),
      await owner.send('PATCH', path, { url: receiver.url }),
      await owner.get('/api/account/export'),
    ]
    for (const { status, text } of answers) {
      assert.equal(status, 200)
      assert.doesNotMatch(text, /hunter2/)
    }
    await sendTest(world)
    assert.equal(receiver.received.at(-1)?.headers.authorization, authorization)

    const another = await signIn(hooks.service, owner.ownerId)
    const elsewhere = await startReceiver(file)
    await another.send('PATCH', path, { url: elsewhere.url })
    assert.equal((await webhookOf(world)).hasAuthorization, false)
    await sendTest(world)
    assert.equal(elsewhere.received.length, 1)
    assert.equal(elsewhere.received[0]?.headers.authorization, undefined)
    const both = { url: receiver.url, authorization: 'Bearer new' }
    await another.send('PATCH', path, both)
    await sendTest(world)
    assert.equal(receiver.received.at(-1)?.headers.authorization, 'Bearer new')

    // Moved in the database to another endpoint, it cannot be decrypted, and nothing is sent.
    const target = jsonOf<CreatedWebhook>(
      await owner.post(WEBHOOKS, { url: elsewhere.url, format: 'ocsf' }),
    )
    const { db } = hooks.service.operator
    await db.write(async (tx) => {
      const row = await tx.db
        .selectFrom('webhook_endpoints')
        .select('sealed_authorization')
        .where('id', '=', webhook.id)
        .executeTakeFirstOrThrow()
      await tx.db.updateTable('webhook_endpoints').set(row).where('id', '=', target.id).execute()
    })
    const failed = await sendTest({ ...world, path: `${WEBHOOKS}/${target.id}` })
    assert.match(failed.problem ?? '', /can no longer be decrypted. Enter it again/)
    assert.equal(elsewhere.received.length, 1)
  })
})
