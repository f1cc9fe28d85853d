import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

const DAY_MS = 86_400_000

async function setSession(service: TestService, values: Record<string, number>): Promise<void> {
  await service.operator.db.write((tx) => tx.db.updateTable('sessions').set(values).execute())
}

test('over https the session cookie has the __Host- prefix and is HttpOnly', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://id.example' })
  const visitor = new Visitor(service)
  await visitor.signUp('ada')
  const answer = await visitor.signIn()
  const cookie = answer.headers.getSetCookie().find((each) => each.includes('session'))
  assert.match(cookie as string, /^__Host-session=[A-Za-z0-9_-]{43}; /)
  for (const attribute of ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']) {
    assert.ok(cookie?.split('; ').includes(attribute), cookie)
  }
  assert.equal(cookie?.includes('Domain'), false)
})

test("on plain http at loopback the cookie's name contains the port", async (t) => {
  const service = await startTestService(t)
  const visitor = new Visitor(service)
  await visitor.signUp('ada')
  assert.deepEqual([...visitor.cookies.keys()], [`countersign-session-${service.env.PORT}`])
})

test('an altered, truncated or invented cookie authenticates nobody', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const [[name, token] = ['', '']] = ada.cookies
  const forged = [token.slice(1), `${token}A`, token.toUpperCase(), 'x'.repeat(43), '%00', '']
  for (const value of forged) {
    ada.cookies.set(name, value)
    assertRefused(await ada.get('/api/account'), 401, 'UNAUTHENTICATED')
  }
  ada.cookies.set(name, token)
  assert.equal((await ada.get('/api/account')).status, 200)
})

test("a sign-in ends the browser's previous session, which prevents session fixation", async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const before = new Map(ada.cookies)
  assert.equal((await ada.signIn()).status, 200)
  assert.notDeepEqual(ada.cookies, before)
  const thief = new Visitor(service)
  for (const [name, value] of before) thief.cookies.set(name, value)
  assertRefused(await thief.get('/api/account'), 401, 'UNAUTHENTICATED')
  assert.equal((await ada.account()).sessions.length, 1)
})

test('a session ends after a week without use', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  await setSession(service, { last_seen_at: Date.now() - 7 * DAY_MS + 60_000 })
  assert.equal((await ada.get('/api/account')).status, 200)
  const { lastSeenAt } = (await ada.account()).sessions[0] as { lastSeenAt: string }
  assert.ok(Date.now() - Date.parse(lastSeenAt) < 60_000, 'its use was written down')
  await setSession(service, { last_seen_at: Date.now() - 7 * DAY_MS })
  assertRefused(await ada.get('/api/account'), 401, 'UNAUTHENTICATED')
})

test('a session ends after thirty days even if it is used', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const { expiresAt } = (await ada.account()).sessions[0] as { expiresAt: string }
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 30 * DAY_MS) < 60_000)
  await setSession(service, { expires_at: Date.now() })
  assertRefused(await ada.get('/api/account'), 401, 'UNAUTHENTICATED')
})

test('the account page lists sessions and ends them at once', async (t) => {
  const service = await startTestService(t)
  const laptop = new Visitor(service)
  await laptop.signUp('ada')
  const others = [new Visitor(service), new Visitor(service), new Visitor(service)]
  for (const other of others) {
    other.authenticator.passkeys.push(...laptop.authenticator.passkeys)
    assert.equal((await other.signIn()).status, 200)
  }
  const { sessions } = await laptop.account()
  assert.equal(sessions.length, 4)
  const current = sessions.filter((each) => each.current)
  assert.deepEqual(
    current.map(({ browser }) => browser),
    ['a visitor'],
  )
  const [one] = (await (others[0] as Visitor).account()).sessions.filter((each) => each.current)
  assert.equal((await laptop.send('DELETE', `/api/account/sessions/${one?.id}`)).status, 204)
  assertRefused(await (others[0] as Visitor).get('/api/account'), 401, 'UNAUTHENTICATED')
  assert.equal((await laptop.send('DELETE', '/api/account/sessions')).status, 204)
  for (const other of others) assertRefused(await other.get('/api/account'), 401, 'UNAUTHENTICATED')
  assert.equal((await laptop.account()).sessions.length, 1)
})

test("owners cannot end another owner's session", async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const grace = new Visitor(service)
  await grace.signUp('grace')
  const [session] = (await ada.account()).sessions
  const answer = await grace.send('DELETE', `/api/account/sessions/${session?.id}`)
  assertRefused(answer, 404, 'NOT_FOUND')
  assert.equal((await ada.get('/api/account')).status, 200)
})

/** Requests that need a sign-in within the last ten minutes. */
const DANGEROUS: readonly [string, string, object?][] = [
  ['POST', '/api/account/passkeys/options', {}],
  ['POST', '/api/account/passkeys', { response: {} }],
  ['DELETE', '/api/account/passkeys/abc'],
  ['POST', '/api/account/recovery-codes', {}],
  ['DELETE', '/api/account/sessions'],
  ['POST', '/api/account/sign-in-providers', { provider: 'dev-low' }],
  ['DELETE', '/api/account/sign-in-providers/dev-low'],
  ['POST', '/api/account/deletion', { username: 'ada' }],
  ['POST', '/api/account/agents/revoke-all', { username: 'ada' }],
  ['DELETE', '/api/identity/in-person'],
]
for (const [method, target, body] of DANGEROUS) {
  test(`${method} ${target} needs a recent sign-in`, async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner('ada')
    const old = await signIn(service, ownerId, Date.now() - 11 * 60_000)
    assertRefused(await old.send(method, target, body), 403, 'RECENT_SIGN_IN_REQUIRED')
    const { recentUntil } = jsonOf<{ recentUntil: string }>(await old.get('/api/session'))
    assert.ok(Date.parse(recentUntil) < Date.now())
  })
}
