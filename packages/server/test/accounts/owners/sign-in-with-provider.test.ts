import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionState, SignedUp } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { UserAgent } from '../../../../../test/support/user-agent.ts'
import { logInAtProvider } from '../../../../../test/support/verify-identity.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

/** The development provider that allows sign-in. */
const PROVIDER = 'dev-low'

/** Signs in at the provider and follows the callback. @returns the dashboard page that it redirects to */
async function goThrough(visitor: Visitor, begun: Answer, name: string): Promise<URL> {
  assert.equal(begun.status, 200, begun.text)
  const { redirect } = jsonOf<{ redirect: string }>(begun)
  const back = await logInAtProvider(visitor.service, { browser: new UserAgent(), redirect }, name)
  return comeBack(visitor, back)
}

async function comeBack(visitor: Visitor, url: URL): Promise<URL> {
  const answer = await visitor.get(url.pathname + url.search)
  assert.equal(answer.status, 303, answer.text)
  return new URL(answer.headers.get('location') as string, visitor.service.url)
}

function begin(visitor: Visitor): Promise<Answer> {
  return visitor.post('/api/sign-in/provider', { provider: PROVIDER })
}

async function nameOf(visitor: Visitor): Promise<string | undefined> {
  return jsonOf<SessionState>(await visitor.get('/api/session')).owner?.username
}

async function signUpBy(service: TestService, name: string, username: string): Promise<Visitor> {
  const visitor = new Visitor(service)
  const page = await goThrough(visitor, await begin(visitor), name)
  assert.equal(page.pathname + page.search, `/dashboard/sign-up?provider=${PROVIDER}`)
  const body = { username, displayName: 'Somebody' }
  const answer = await visitor.post('/api/sign-up/provider', body)
  assert.equal(answer.status, 201, answer.text)
  assert.equal(jsonOf<SignedUp>(answer).recoveryCodes.length, 10)
  return visitor
}

test('an owner signs up with a provider account and signs in with it again', async (t) => {
  const service = await startTestService(t)
  const first = await signUpBy(service, 'ada@elsewhere', 'ada')
  assert.equal(await nameOf(first), 'ada')
  const again = new Visitor(service)
  const page = await goThrough(again, await begin(again), 'ada@elsewhere')
  assert.equal(page.pathname, '/dashboard/agents')
  assert.equal(await nameOf(again), 'ada')
  const { sessions, passkeys } = await again.account()
  assert.deepEqual(new Set(sessions.map(({ method }) => method)), new Set(['provider']))
  assert.deepEqual(passkeys, [])
})

test("a sign-in with a provider does not verify the owner's identity", async (t) => {
  const service = await startTestService(t)
  const ada = await signUpBy(service, 'ada@elsewhere', 'ada')
  assertRefused(await ada.post('/api/agents/token'), 403, 'IDENTITY_REQUIRED')
})

test('an owner who chose a taken username can choose another without returning to the provider', async (t) => {
  const service = await startTestService(t)
  await new Visitor(service).signUp('ada')
  const visitor = new Visitor(service)
  await goThrough(visitor, await begin(visitor), 'grace@elsewhere')
  const signUp = (username: string) =>
    visitor.post('/api/sign-up/provider', { username, displayName: 'Grace' })
  assertRefused(await signUp('ada'), 400, 'VALIDATION_ERROR', /taken/)
  assert.equal((await signUp('grace')).status, 201)
  assertRefused(await signUp('grace-2'), 400, 'VALIDATION_ERROR')
})

test('a provider account can be linked to one account, and unlinked', async (t) => {
  const service = await startTestService(t)
  await signUpBy(service, 'taken@elsewhere', 'grace')
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const link = () => ada.post('/api/account/sign-in-providers', { provider: PROVIDER })

  const refused = await goThrough(ada, await link(), 'taken@elsewhere')
  assert.equal(refused.pathname, '/dashboard/account/security')
  assert.equal(refused.searchParams.get('failed'), PROVIDER)
  assert.equal(refused.searchParams.get('code'), 'already-linked')
  assert.match(refused.searchParams.get('request') as string, /^req_/)
  const linked = await goThrough(ada, await link(), 'ada@elsewhere')
  assert.equal(linked.pathname + linked.search, `/dashboard/account/security?linked=${PROVIDER}`)
  const [provider] = (await ada.account()).signInProviders
  assert.notEqual(provider?.linkedAt, null)

  const other = new Visitor(service)
  await goThrough(other, await begin(other), 'ada@elsewhere')
  assert.equal(await nameOf(other), 'ada')
  const path = `/api/account/sign-in-providers/${PROVIDER}`
  assert.equal((await ada.send('DELETE', path)).status, 204)
  assertRefused(await ada.send('DELETE', path), 404, 'NOT_FOUND')
})

test('the last sign-in method cannot be unlinked', async (t) => {
  const service = await startTestService(t)
  const ada = await signUpBy(service, 'ada@elsewhere', 'ada')
  const path = `/api/account/sign-in-providers/${PROVIDER}`
  assertRefused(await ada.send('DELETE', path), 400, 'VALIDATION_ERROR', /last sign-in method/)
  assert.equal((await ada.addPasskey('Laptop')).status, 201)
  assert.equal((await ada.send('DELETE', path)).status, 204)
})

test('a callback in another browser, a repeated one, or one of another flow does not sign in', async (t) => {
  const service = await startTestService(t)
  await signUpBy(service, 'ada@elsewhere', 'ada')
  const visitor = new Visitor(service)
  const { redirect } = jsonOf<{ redirect: string }>(await begin(visitor))
  const back = await logInAtProvider(
    service,
    { browser: new UserAgent(), redirect },
    'ada@elsewhere',
  )
  const thief = new Visitor(service)
  const page = await comeBack(thief, back)
  assert.equal(page.pathname, '/dashboard/sign-in')
  assert.equal(page.searchParams.get('failed'), PROVIDER)
  assert.equal(await nameOf(thief), undefined)
  const flow = new Map(visitor.cookies)
  assert.equal((await comeBack(visitor, back)).pathname, '/dashboard/agents')
  const late = new Visitor(service)
  for (const [name, value] of flow) late.cookies.set(name, value)
  assert.equal((await comeBack(late, back)).pathname, '/dashboard/sign-in')
})

test('an owner who signs out while linking links no account', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const begun = await ada.post('/api/account/sign-in-providers', { provider: PROVIDER })
  await ada.post('/api/session/end')
  const page = await goThrough(ada, begun, 'ada@elsewhere')
  assert.equal(page.searchParams.get('failed'), PROVIDER)
  await ada.signIn()
  assert.equal((await ada.account()).signInProviders[0]?.linkedAt, null)
})

test('one browser can sign in as different people at a development provider', async (t) => {
  const service = await startTestService(t)
  await signUpBy(service, 'ada@elsewhere', 'ada')
  await signUpBy(service, 'grace@elsewhere', 'grace')
  const browser = new UserAgent()
  for (const name of ['ada', 'grace', 'grace', 'ada']) {
    const visitor = new Visitor(service)
    const { redirect } = jsonOf<{ redirect: string }>(await begin(visitor))
    const back = await logInAtProvider(service, { browser, redirect }, `${name}@elsewhere`)
    assert.equal((await comeBack(visitor, back)).pathname, '/dashboard/agents')
    assert.equal(await nameOf(visitor), name)
  }
})

test('a provider without signIn cannot be used to sign in', async (t) => {
  const service = await startTestService(t)
  for (const provider of ['dev-high', 'in-person', 'nowhere']) {
    const answer = await new Visitor(service).post('/api/sign-in/provider', { provider })
    assertRefused(answer, 404, 'NOT_FOUND')
  }
})
