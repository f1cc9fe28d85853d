import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '@countersign/protocol'
import Stripe from 'stripe'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { UserAgent } from '../../../../../test/support/user-agent.ts'
import {
  beginIdentity,
  comeBack,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { SECRET_KEY, startStripe } from '../providers/support/stripe-server.ts'
import { startWithProviders } from './with-providers.ts'

const WEBHOOK_SECRET = 'whsec_of-the-test'

/** An owner who has begun a verification at Stripe. */
async function atStripe(t: Parameters<typeof startWithProviders>[0]) {
  const stripe = await startStripe(t)
  const provider = {
    id: 'stripe',
    type: 'stripe-identity',
    secretKey: { env: 'STRIPE_KEY' },
    webhookSecret: { env: 'STRIPE_WEBHOOK_SECRET' },
    address: stripe.url,
  }
  const service = await startWithProviders(t, [provider], {
    STRIPE_KEY: SECRET_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
  })
  const owner = await signInNewcomer(service)
  const { browser } = await beginIdentity(owner, 'stripe')
  const [session] = stripe.sessions.values()
  assert.ok(session)
  const back = new URL('/identity/callback/stripe', service.url)
  return { service, stripe, owner, browser, session, back }
}

/** The event that Stripe sends for a decided session. */
function call(service: TestService, id: string, secret = WEBHOOK_SECRET, padding = '') {
  const payload = JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type: 'identity.verification_session.verified',
    livemode: true,
    padding,
    data: { object: { id, object: 'identity.verification_session', status: 'verified' } },
  })
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret })
  return ask(service, '/webhooks/identity/stripe', {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': signature,
      'sec-fetch-site': 'cross-site',
      origin: 'https://stripe.example',
    },
    body: payload,
  })
}

async function verificationsOf(owner: SignedInOwner) {
  return jsonOf<Identity>(await owner.get('/api/identity')).verifications
}

async function eventsOf({ operator }: TestService) {
  return (await operator.db.read.selectFrom('events').selectAll().execute()).length
}

test('a verification decided later is recorded by the webhook, for the owner who began it', async (t) => {
  const { service, owner, browser, session, back } = await atStripe(t)
  session.status = 'processing'
  const outcome = await comeBack(browser, back)
  assert.equal(outcome.code, 'processing')
  assert.deepEqual(await verificationsOf(owner), [])

  session.status = 'verified'
  assert.equal((await call(service, session.id)).status, 204)

  const [verification] = await verificationsOf(owner)
  assert.equal(verification?.provider, 'stripe')
  assert.equal(verification?.assurance, 'substantial')
})

test('a repeated webhook, or one after the callback, changes nothing', async (t) => {
  const { service, owner, browser, session, back } = await atStripe(t)
  session.status = 'verified'
  assert.equal((await comeBack(browser, back)).verified, 'stripe')
  const [before] = await verificationsOf(owner)
  for (let i = 0; i < 2; i++) assert.equal((await call(service, session.id)).status, 204)
  assert.deepEqual((await verificationsOf(owner))[0]?.verifiedAt, before?.verifiedAt)
  assert.equal(await eventsOf(service), 1)
})

test('a callback after the webhook reports success, and only in the browser that began the flow', async (t) => {
  const { service, owner, browser, session, back } = await atStripe(t)
  session.status = 'verified'
  assert.equal((await call(service, session.id)).status, 204)
  const other = await signInNewcomer(service)
  const thief = new UserAgent(browser.cookie, other.cookie)
  assert.equal((await comeBack(thief, back)).failed, 'stripe')
  assert.deepEqual(await verificationsOf(other), [])

  assert.equal((await comeBack(browser, back)).verified, 'stripe')
  assert.equal((await verificationsOf(owner)).length, 1)
  assert.equal(await eventsOf(service), 1)
  const [flow] = await service.operator.db.read.selectFrom('flows').selectAll().execute()
  assert.deepEqual([flow?.state, flow?.reference], ['{}', null], 'nothing of the session is kept')
  assert.equal((await comeBack(browser, back)).failed, 'stripe')
})

test('a concurrent webhook and callback record one verification', async (t) => {
  const { service, owner, browser, session, back } = await atStripe(t)
  session.status = 'verified'
  const [called, outcome] = await Promise.all([call(service, session.id), comeBack(browser, back)])
  assert.equal(called.status, 204)
  assert.equal(outcome.verified, 'stripe')
  assert.equal((await verificationsOf(owner)).length, 1)
  assert.equal(await eventsOf(service), 1)
})

test("a webhook's content is not trusted: the result is fetched from the provider", async (t) => {
  const { service, owner, session } = await atStripe(t)
  session.status = 'requires_input'
  assert.equal((await call(service, session.id)).status, 204)
  assert.deepEqual(await verificationsOf(owner), [])
})

test('a webhook about an unknown verification is acknowledged and ignored', async (t) => {
  const { service } = await atStripe(t)
  assert.equal((await call(service, 'vs_unknown')).status, 204)
  assert.equal(await eventsOf(service), 0)
})

test('a webhook without a valid signature is rejected', async (t) => {
  const { service, owner, session } = await atStripe(t)
  session.status = 'verified'
  assertRefused(await call(service, session.id, 'whsec_another'), 401, 'INVALID_SIGNATURE')
  const bare = await ask(service, '/webhooks/identity/stripe', { method: 'POST' })
  assertRefused(bare, 401, 'INVALID_SIGNATURE')
  assert.deepEqual(await verificationsOf(owner), [])
})

test('if fetching the result fails, the webhook gets an error, and its retry succeeds', async (t) => {
  const { service, stripe, owner, session } = await atStripe(t)
  session.status = 'verified'
  stripe.answers.push({ status: 500, body: {} }, { status: 500, body: {} })
  assert.equal((await call(service, session.id)).status, 503)
  assert.equal((await call(service, session.id)).status, 204)
  assert.equal((await verificationsOf(owner)).length, 1)
})

test('webhooks over 64 KiB, for unknown providers, and for providers without webhooks are rejected', async (t) => {
  const { service, session } = await atStripe(t)
  assert.equal((await call(service, session.id, WEBHOOK_SECRET, 'x'.repeat(20_000))).status, 204)
  const long = await call(service, session.id, WEBHOOK_SECRET, 'x'.repeat(70_000))
  assertRefused(long, 413, 'PAYLOAD_TOO_LARGE')
  for (const id of ['nobody', 'in-person']) {
    const answer = await ask(service, `/webhooks/identity/${id}`, { method: 'POST', body: '{}' })
    assertRefused(answer, 404, 'NOT_FOUND')
  }
})

test("the provider's card says that one person can verify several accounts", async (t) => {
  const { owner } = await atStripe(t)
  const { providers } = jsonOf<Identity>(await owner.get('/api/identity'))
  assert.equal(providers.find(({ id }) => id === 'stripe')?.unique, false)
})
