import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { UserAgent } from '../../../../../test/support/user-agent.ts'
import {
  beginIdentity,
  comeBack,
  logInAtProvider,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'

/** Begins a verification and signs in at the provider, up to the callback. */
async function beforeCallback(t: Parameters<typeof startTestService>[0]) {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  const begun = await beginIdentity(owner, 'dev-high')
  const url = await logInAtProvider(service, begun, 'Ada')
  return { service, owner, browser: begun.browser, url }
}

async function assertNobodyVerified(service: TestService): Promise<void> {
  const { read } = service.operator.db
  assert.deepEqual(await read.selectFrom('identity_verifications').selectAll().execute(), [])
}

test('a flow can be completed once: a second callback is rejected', async (t) => {
  const { service, owner, browser, url } = await beforeCallback(t)
  const cookie = browser.cookie
  assert.equal((await comeBack(browser, url)).verified, 'dev-high')
  const again = await comeBack(new UserAgent(cookie), url)
  assert.equal(again.code, 'flow-expired')
  assert.deepEqual(await providersOf(owner), ['dev-high'])
  assert.equal((await service.operator.db.read.selectFrom('flows').selectAll().execute()).length, 0)
})

test('of two concurrent callbacks, one succeeds', async (t) => {
  const { browser, url } = await beforeCallback(t)
  const [one, other] = [new UserAgent(browser.cookie), new UserAgent(browser.cookie)]
  const outcomes = await Promise.all([comeBack(one, url), comeBack(other, url)])
  assert.equal(outcomes.filter((each) => each.verified !== null).length, 1)
})

test('another owner cannot complete a flow, and the attempt ends it', async (t) => {
  const { service, owner, browser, url } = await beforeCallback(t)
  const other = await signInNewcomer(service)
  const flow = browser.cookie.split('; ').find((each) => each.includes('flow')) as string
  const outcome = await comeBack(new UserAgent(other.cookie, flow), url)
  assert.equal(outcome.code, 'flow-expired')
  assert.equal((await comeBack(browser, url)).code, 'flow-expired')
  await assertNobodyVerified(service)
  assert.deepEqual(await providersOf(owner), [])
})

test('without the flow cookie nobody is verified, so a callback link sent by an attacker is useless', async (t) => {
  const { service, browser, url } = await beforeCallback(t)
  browser.forget('flow')
  assert.equal((await comeBack(browser, url)).code, 'flow-expired')
  await assertNobodyVerified(service)
})

test('without a session nobody is verified', async (t) => {
  const { service, browser, url } = await beforeCallback(t)
  browser.forget('session')
  assert.equal((await comeBack(browser, url)).code, 'signed-out')
  await assertNobodyVerified(service)
})

test("a flow cannot be completed at another provider's callback URL", async (t) => {
  const { service, browser, url } = await beforeCallback(t)
  const elsewhere = new URL(url)
  elsewhere.pathname = '/identity/callback/dev-low'
  const outcome = await comeBack(browser, elsewhere)
  assert.equal(outcome.failed, 'dev-low')
  assert.equal(outcome.code, 'flow-expired')
  await assertNobodyVerified(service)
})

test('a flow expires after 15 minutes', async (t) => {
  const { service, browser, url } = await beforeCallback(t)
  const { db } = service.operator
  const flow = await db.read.selectFrom('flows').selectAll().executeTakeFirstOrThrow()
  const left = flow.expires_at - Date.now()
  assert.ok(left > 890_000 && left <= 900_000, `${left}`)
  await db.write(async (tx) => {
    await tx.db.updateTable('flows').set({ expires_at: Date.now() }).execute()
  })
  assert.equal((await comeBack(browser, url)).code, 'flow-expired')
  await assertNobodyVerified(service)
})

test('a code from one flow is rejected in another flow of the same owner', async (t) => {
  const { service, owner, url } = await beforeCallback(t)
  const second = await beginIdentity(owner, 'dev-high')
  const outcome = await comeBack(second.browser, url)
  assert.equal(outcome.code, 'invalid-response')
  await assertNobodyVerified(service)
})

test('an account deleted during the flow is not verified', async (t) => {
  const { service, owner, browser, url } = await beforeCallback(t)
  await service.operator.db.write(async (tx) => {
    await tx.db
      .updateTable('owners')
      .set({ deleted_at: Date.now() })
      .where('id', '=', owner.ownerId)
      .execute()
  })
  assert.equal((await comeBack(browser, url)).verified, null)
  await assertNobodyVerified(service)
})

test("beginning needs a session, a configured provider, and the service's own origin", async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  const target = '/api/identity/dev-high/begin'
  assertRefused(await post(service, target, {}), 401, 'UNAUTHENTICATED')
  assertRefused(await owner.post('/api/identity/nobody/begin'), 404, 'NOT_FOUND')
  const headers = { 'content-type': 'application/json', cookie: owner.cookie }
  const foreign = { ...headers, origin: 'https://elsewhere.example' }
  const answer = await ask(service, target, { method: 'POST', headers: foreign, body: '{}' })
  assertRefused(answer, 403, 'FORBIDDEN')
  assertRefused(await ask(service, '/identity/callback/nobody'), 404, 'NOT_FOUND')
  assertRefused(await ask(service, '/api/identity'), 401, 'UNAUTHENTICATED')
})

test('in-person verification is listed and cannot be begun', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  const { providers } = jsonOf<Identity>(await owner.get('/api/identity'))
  const card = providers.find((each) => each.id === 'in-person')
  assert.equal(card?.selfService, false)
  assert.match(card?.proves ?? '', /operator of this service/)
  const answer = await owner.post('/api/identity/in-person/begin')
  assertRefused(answer, 400, 'VALIDATION_ERROR', /operator of this service/)
})

test('the flow cookie is host-only and HttpOnly', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'http://127.0.0.1:9' })
  const owner = await signInNewcomer(service)
  const answer = await owner.post('/api/identity/dev-low/begin')
  assert.equal(answer.status, 200, answer.text)
  const cookie = answer.headers.getSetCookie().find((each) => each.includes('flow')) as string
  assert.match(cookie, /; Path=\/; HttpOnly; SameSite=Lax$/)
  assert.match(cookie, /Max-Age=900/)
  assert.equal(new URL(jsonOf<{ redirect: string }>(answer).redirect).hostname, '127.0.0.1')
})

async function providersOf(owner: SignedInOwner): Promise<string[]> {
  const { verifications } = jsonOf<Identity>(await owner.get('/api/identity'))
  return verifications.map((each) => each.provider)
}
