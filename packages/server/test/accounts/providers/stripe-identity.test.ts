import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Stripe from 'stripe'
import { Value } from 'typebox/value'
import {
  stripeIdentityProvider,
  stripeIdentitySettings,
} from '../../../src/accounts/providers/stripe-identity.ts'
import { fails, refuses } from '../../http/outbound/support/refuses.ts'
import { error, SECRET_KEY, startStripe, TEST_KEY } from './support/stripe-server.ts'

const WEBHOOK_SECRET = 'whsec_0f1e2d3c4b5a'
const SECRETS = [SECRET_KEY, TEST_KEY, WEBHOOK_SECRET]
const NOW = Date.UTC(2026, 0, 2)
const CONTEXT = { ownerId: 'o_1', callbackUrl: 'https://id.example/identity/callback/stripe' }
const ON_LOOPBACK = { ...CONTEXT, callbackUrl: 'http://localhost:8080/identity/callback/stripe' }
const VERIFIED = 'identity.verification_session.verified'

async function setUp(
  t: TestContext,
  { testMode, key = SECRET_KEY, timeLimitMs = 5_000 }: SetUpOptions = {},
) {
  const stripe = await startStripe(t)
  const settings = {
    id: 'stripe',
    type: 'stripe-identity' as const,
    secretKey: { env: 'KEY' },
    webhookSecret: { env: 'WEBHOOK' },
    address: stripe.url,
    ...(testMode && { testMode }),
  }
  const env = { KEY: key, WEBHOOK: WEBHOOK_SECRET }
  const provider = await stripeIdentityProvider(settings, env, { timeLimitMs, now: () => NOW })
  return { stripe, settings, provider }
}

interface SetUpOptions {
  testMode?: true
  key?: string
  timeLimitMs?: number
}

type SetUp = Awaited<ReturnType<typeof setUp>>

/** Begins a verification, and returns Stripe's session for the test to change. */
async function begun({ stripe, provider }: SetUp, context = CONTEXT) {
  const begun = await provider.begin(context)
  const session = stripe.sessions.get(begun.reference ?? '')
  assert.ok(session)
  return { ...begun, session, complete: () => provider.complete(context, {}, begun.state) }
}

function signed(event: object, { secret = WEBHOOK_SECRET, at = NOW } = {}) {
  const payload = JSON.stringify(event)
  const header = Stripe.webhooks.generateTestHeaderString({
    payload,
    secret,
    timestamp: Math.floor(at / 1000),
  })
  return { headers: { 'stripe-signature': header }, raw: new TextEncoder().encode(payload) }
}

const eventOf = (id: unknown, type = VERIFIED, livemode = true) => ({
  id: 'evt_1',
  object: 'event',
  type,
  livemode,
  data: { object: { id, object: 'identity.verification_session' } },
})

test('begin creates a session for the owner, with a document and a selfie', async (t) => {
  const it = await setUp(t)
  const { session, redirect, reference, state } = await begun(it)
  assert.equal(redirect, session.url)
  assert.equal(reference, session.id)
  assert.deepEqual(state, { sessionId: session.id })
  assert.deepEqual(Object.fromEntries(it.stripe.forms[0] ?? []), {
    type: 'document',
    'options[document][require_matching_selfie]': 'true',
    client_reference_id: 'o_1',
    'metadata[owner]': 'o_1',
    return_url: CONTEXT.callbackUrl,
  })
})

test('a retry after a lost response does not create a second session', async (t) => {
  const it = await setUp(t)
  it.stripe.answers.push({ status: 500, body: '{}' })
  await begun(it)
  const keys = it.stripe.received.map(({ headers }) => headers['idempotency-key'])
  assert.equal(keys.length, 2)
  assert.equal(new Set(keys).size, 1)
  await begun(it)
  assert.equal(it.stripe.sessions.size, 2)
})

test('a verified session verifies the owner and is redacted', async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  session.status = 'verified'
  assert.deepEqual(await complete(), {
    subject: session.id,
    issuer: 'https://stripe.com',
    assurance: 'substantial',
    verifiedAt: new Date(NOW),
  })
  assert.deepEqual(session.redaction, { status: 'processing' })
  await refuses(complete(), /used before/, SECRETS)
})

test('a callback and a webhook may arrive together', async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  session.status = 'verified'
  const both = await Promise.all([complete(), complete()])
  for (const { subject } of both) assert.equal(subject, session.id)
  const redactions = it.stripe.received.filter(({ path }) => path.endsWith('/redact'))
  assert.equal(redactions.length, 1)
})

test('if redaction fails, the owner is still verified', async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  session.status = 'verified'
  it.stripe.answers.push({ status: 200, body: session }, error(400, 'no'))
  assert.equal((await complete()).subject, session.id)
})

test('a session in processing is accepted as soon as it is verified', async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  session.status = 'processing'
  await refuses(complete(), /still checking .* arrives here by itself/, SECRETS)
  session.status = 'verified'
  assert.ok(await complete())
})

test("a refused owner sees the reason, and none of Stripe's data about them", async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  await refuses(complete(), /not done at Stripe yet/, SECRETS)
  const because = (code: string, words: RegExp) => {
    session.last_error = { code, reason: 'The document of Ada Lovelace has expired.' }
    return refuses(complete(), words, [...SECRETS, 'Lovelace'])
  }
  await because('document_expired', /document has expired/)
  await because('selfie_face_mismatch', /does not match/)
  await because('consent_declined', /did not agree/)
  await because('something_new', /could not verify you/)
  session.status = 'canceled'
  await refuses(complete(), /cancelled/, SECRETS)
  session.status = 'something_new'
  await fails(complete(), /not understood/, SECRETS)
})

test('a session of another owner is rejected', async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  session.status = 'verified'
  session.metadata = { owner: 'o_2' }
  await refuses(complete(), /another account/, SECRETS)
  session.metadata = { owner: 'o_1' }
  session.client_reference_id = 'o_2'
  await refuses(complete(), /another account/, SECRETS)
  session.metadata = {}
  session.client_reference_id = null
  await refuses(complete(), /another account/, SECRETS)
  assert.equal(session.redaction, null)
})

test('a missing or different session is a failure', async (t) => {
  const it = await setUp(t)
  const { session, complete } = await begun(it)
  session.status = 'verified'
  it.stripe.answers.push({ status: 200, body: { ...session, id: 'vs_other' } })
  await fails(complete(), /another verification/, SECRETS)
  it.stripe.answers.push({ status: 200, body: { ...session, livemode: false } })
  await fails(complete(), /other mode/, SECRETS)
  it.stripe.sessions.clear()
  await fails(complete(), /error \(status 404\)/, SECRETS)
})

test('test mode is accepted on loopback only', async (t) => {
  const it = await setUp(t, { testMode: true, key: TEST_KEY })
  await fails(begun(it), /only where this service is on loopback/, SECRETS)
  const { session, state, complete } = await begun(it, ON_LOOPBACK)
  session.status = 'verified'
  await fails(it.provider.complete(CONTEXT, {}, state), /on loopback/, SECRETS)
  assert.equal((await complete()).subject, session.id)
})

test('a response to begin without a session or URL is a failure', async (t) => {
  const it = await setUp(t)
  for (const body of [
    {},
    { id: 'vs_1' },
    { id: 'vs_1', url: null },
    { id: '../x', url: 'https://x' },
  ]) {
    it.stripe.answers.push({ status: 200, body })
    await fails(begun(it), /without saying where to go/, SECRETS)
  }
  it.stripe.answers.push({ status: 200, body: '<html>' })
  await fails(begun(it), /Stripe answers with an error|not understood/, SECRETS)
})

test('a rejected or restricted key is a failure whose message does not contain it', async (t) => {
  const it = await setUp(t, { key: 'sk_live_wr0ng0000000' })
  await fails(begun(it), /does not accept the secret key/, ['sk_live_wr0', ...SECRETS])
  const restricted = await setUp(t)
  restricted.stripe.answers.push(error(403, `The key ${SECRET_KEY} lacks permissions.`))
  await fails(begun(restricted), /may not use Identity/, SECRETS)
})

test('a timeout is a failure', async (t) => {
  const it = await setUp(t, { timeLimitMs: 200 })
  it.stripe.answers.push('never', 'never')
  await fails(begun(it), /Stripe does not answer/, SECRETS)
})

test('a webhook names the session, whose state is then fetched', async (t) => {
  const it = await setUp(t)
  const { session } = await begun(it)
  const { headers, raw } = signed(eventOf(session.id))
  assert.deepEqual(await it.provider.webhook?.(headers, raw), { reference: session.id })
})

test('an irrelevant webhook is ignored', async (t) => {
  const it = await setUp(t)
  const calls = [
    eventOf('vs_1', 'identity.verification_session.requires_input'),
    eventOf('vs_1', 'identity.verification_session.redacted'),
    eventOf('vs_1', 'charge.succeeded'),
    eventOf('vs_1', VERIFIED, false),
    eventOf('../vs_1'),
    eventOf(17),
    { ...eventOf('vs_1'), data: undefined },
    { type: VERIFIED },
    [],
  ]
  for (const call of calls) {
    const { headers, raw } = signed(call)
    assert.equal(await it.provider.webhook?.(headers, raw), null, JSON.stringify(call))
  }
})

test('a webhook with a wrong or old signature is rejected', async (t) => {
  const it = await setUp(t)
  const event = eventOf('vs_1')
  const good = signed(event)
  const header = good.headers['stripe-signature']
  const changed = new TextEncoder().encode(JSON.stringify(eventOf('vs_2')))
  const calls = [
    signed(event, { secret: 'whsec_other' }),
    signed(event, { at: NOW - 301_000 }),
    { ...good, raw: changed },
    { ...good, raw: new Uint8Array() },
    { ...good, headers: {} },
    { ...good, headers: { 'stripe-signature': '' } },
    { ...good, headers: { 'stripe-signature': header.replace('v1=', 'v0=') } },
    { ...good, headers: { 'stripe-signature': [header, header] } },
  ]
  for (const { headers, raw } of calls)
    await refuses(it.provider.webhook?.(headers, raw) ?? Promise.resolve(), /signature/, SECRETS)
  assert.ok(await it.provider.webhook?.(good.headers, good.raw))
  const lately = signed(event, { at: NOW - 300_000 })
  assert.ok(await it.provider.webhook?.(lately.headers, lately.raw))
})

test('check makes a request that needs the right key', async (t) => {
  const it = await setUp(t)
  const ok = { name: 'secret key', ok: true, detail: 'accepted, live mode' }
  assert.deepEqual(await it.provider.check(), [ok])
  const wrong = await setUp(t, { key: 'rk_live_wr0ng0000000' })
  const detail = 'Stripe does not accept the secret key.'
  assert.deepEqual(await wrong.provider.check(), [{ name: 'secret key', ok: false, detail }])
})

test('settings are strict, and secrets of the wrong kind are not printed', async (t) => {
  const { settings } = await setUp(t)
  const schema = stripeIdentitySettings()
  assert.ok(Value.Check(schema, settings))
  for (const wrong of [
    { ...settings, secretKey: SECRET_KEY },
    { ...settings, webhookSecret: undefined },
    { ...settings, testMode: 'no' },
    { ...settings, signIn: true },
    { ...settings, address: 'http://api.stripe.com' },
  ])
    assert.ok(!Value.Check(schema, wrong), JSON.stringify(wrong))
  const starts = [
    { KEY: TEST_KEY, WEBHOOK: WEBHOOK_SECRET },
    { KEY: 'pk_live_123', WEBHOOK: WEBHOOK_SECRET },
    { KEY: SECRET_KEY, WEBHOOK: SECRET_KEY },
    { WEBHOOK: WEBHOOK_SECRET },
    { KEY: SECRET_KEY },
  ]
  for (const env of starts)
    await assert.rejects(stripeIdentityProvider(settings, env), (thrown: Error) => {
      assert.equal(thrown.name, 'SecretError')
      return Object.values(env).every((secret) => !thrown.message.includes(secret))
    })
  const live = { ...settings, testMode: true }
  const env = { KEY: SECRET_KEY, WEBHOOK: WEBHOOK_SECRET }
  await assert.rejects(stripeIdentityProvider(live, env), /live mode, and testMode is true/)
})
