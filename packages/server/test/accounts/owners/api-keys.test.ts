import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccountExport,
  API_KEY_SCOPES,
  type ApiKeyScope,
  type ApiKeys,
  type CreatedApiKey,
  MAX_API_KEYS,
  type Notifications,
} from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import {
  OPERATIONS_OF_SCOPES,
  ownerOperations,
  sendOperation,
} from '../../../../../test/support/owner-operations.ts'
import { textOfTables } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'

const KEYS = '/api/account/api-keys'
const AGENTS = '/api/account/agents'

async function createKey(
  owner: SignedInOwner,
  scopes: readonly ApiKeyScope[] = API_KEY_SCOPES,
  more: object = {},
): Promise<CreatedApiKey> {
  const answer = await owner.post(KEYS, { name: 'CI', scopes, ...more })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<CreatedApiKey>(answer)
}

/** Sends a request with an API key and no cookie. */
function withKey(
  service: TestService,
  key: string,
  method = 'GET',
  target = AGENTS,
  body?: unknown,
): Promise<Answer> {
  const authorization = `Bearer ${key}`
  if (body === undefined) return ask(service, target, { method, headers: { authorization } })
  return ask(service, target, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function newOwner(service: TestService, username: string): Promise<SignedInOwner> {
  return signIn(service, await service.operator.addVerifiedOwner(username))
}

test('the owner is notified of a new key, with its name, scopes and expiry but not the key', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const created = await createKey(owner, ['agents:read', 'claim_tokens:create'])
  const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
  const [notification] = notifications.filter(({ kind }) => kind === 'api_key_created')
  assert.equal(notification?.security, true)
  assert.equal(notification?.title, 'An API key was created for your account')
  assert.match(
    notification?.text ?? '',
    /^Its name is “CI”\. Scopes: agents:read, claim_tokens:create\./,
  )
  assert.match(notification?.text ?? '', / It expires on \d+ \w+ \d{4}\. /)
  assert.ok(!JSON.stringify(notification).includes(created.secret))
})

test('each scope admits exactly its operations, and no key reaches what needs a sign-in', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const secrets = new Map<ApiKeyScope, string>()
  for (const scope of API_KEY_SCOPES) {
    secrets.set(scope, (await createKey(owner, [scope])).secret)
  }
  const allScopes = (await createKey(owner)).secret
  const operations = await ownerOperations(service)
  const admitted = Object.values(OPERATIONS_OF_SCOPES).flat()
  assert.ok(operations.length > admitted.length + 15)
  assert.deepEqual(
    operations
      .filter(({ operation }) => operation.security.some((each) => 'apiKey' in each))
      .map(({ operation }) => operation.operationId)
      .toSorted(),
    admitted.toSorted(),
  )
  for (const each of operations) {
    const { operationId } = each.operation
    const call = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` }
      return (await sendOperation(service, each, headers)).status
    }
    for (const [scope, key] of secrets) {
      const status = await call(key)
      const isAdmitted = OPERATIONS_OF_SCOPES[scope].includes(operationId)
      assert.equal(status !== 403, isAdmitted, `${operationId} with ${scope}: ${status}`)
      assert.notEqual(status, 401, operationId)
    }
    if (!admitted.includes(operationId)) assert.equal(await call(allScopes), 403, operationId)
  }
  assert.equal((await owner.get('/api/account')).status, 200, 'the account is unchanged')
})

test('a program manages agents with a key, from the claim token to the revocation', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const other = await newOwner(service, 'grace')
  const theirs = await claimAgent(service, other.ownerId)
  const { secret } = await createKey(owner)
  const issued = await withKey(service, secret, 'POST', '/api/agents/token', {})
  assert.equal(issued.status, 201, issued.text)
  const did = await claimAgent(service, owner.ownerId)
  const { agents } = jsonOf<{ agents: { svcDid: string }[] }>(await withKey(service, secret))
  assert.deepEqual(
    agents.map(({ svcDid }) => svcDid),
    [did],
  )
  const named = { displayName: 'Travel assistant' }
  assert.equal((await withKey(service, secret, 'PATCH', `${AGENTS}/${did}`, named)).status, 200)
  const revoked = await withKey(service, secret, 'POST', `${AGENTS}/${did}/revoke`, {})
  assert.equal(jsonOf<{ status: string }>(revoked).status, 'revoked')
  const foreign = await withKey(service, secret, 'POST', `${AGENTS}/${theirs}/revoke`, {})
  assertRefused(foreign, 404, 'NOT_FOUND')
})

test('a key is shown once, stored as a hash, listed, and gone at once when it is revoked', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const other = await newOwner(service, 'grace')
  const created = await createKey(owner, ['agents:read'])
  const { secret, ...listed } = created
  assert.match(secret, /^svc-key-[0-9a-f]{32}$/)
  assert.equal(listed.lastFour, secret.slice(-4))
  const days = (Date.parse(listed.expiresAt) - Date.parse(listed.createdAt)) / 86_400_000
  assert.equal(days, 90)
  assert.deepEqual(jsonOf<ApiKeys>(await owner.get(KEYS)).apiKeys, [listed])
  const text = await textOfTables(service.settings)
  assert.ok(!text.includes(secret) && !text.includes(secret.slice('svc-key-'.length)))

  assert.equal((await withKey(service, secret)).status, 200)
  const used = jsonOf<ApiKeys>(await owner.get(KEYS)).apiKeys[0]?.lastUsedAt
  assert.ok(typeof used === 'string')
  assert.deepEqual(jsonOf<ApiKeys>(await other.get(KEYS)).apiKeys, [])
  assertRefused(await other.send('DELETE', `${KEYS}/${listed.id}`), 404, 'NOT_FOUND')
  assert.equal((await owner.send('DELETE', `${KEYS}/${listed.id}`)).status, 204)
  assertRefused(await withKey(service, secret), 401, 'UNAUTHENTICATED')
  assertRefused(await owner.send('DELETE', `${KEYS}/${listed.id}`), 404, 'NOT_FOUND')

  const kept = await createKey(owner, ['agents:read', 'agents:status'])
  const answer = await owner.get('/api/account/export')
  const exported = jsonOf<AccountExport>(answer)
  assert.ok(!answer.text.includes(kept.secret))
  assert.deepEqual(
    exported.apiKeys.map(({ id, name }) => [id, name]),
    [[kept.id, 'CI']],
  )
  const events = exported.events.filter(({ type }) => type.startsWith('owner.api_key_'))
  assert.deepEqual(
    events.map(({ type, facts }) => [type, facts.apiKey]),
    [
      ['owner.api_key_created', listed.id],
      ['owner.api_key_revoked', listed.id],
      ['owner.api_key_created', kept.id],
    ],
  )
})

test('creating a key needs a recent sign-in, known scopes and a lifetime of at most a year', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const body = { name: 'CI', scopes: ['agents:read'] }
  const old = await signIn(service, owner.ownerId, Date.now() - 11 * 60_000)
  assertRefused(await old.post(KEYS, body), 403, 'RECENT_SIGN_IN_REQUIRED')
  for (const wrong of [
    { ...body, scopes: [] },
    { ...body, scopes: ['account:delete'] },
    { ...body, scopes: ['agents:read', 'agents:read'] },
    { ...body, name: ' ' },
    { ...body, expiresInDays: 0 },
    { ...body, expiresInDays: 366 },
    { ...body, ownerId: 1 },
  ]) {
    assertRefused(await owner.post(KEYS, wrong), 400, 'VALIDATION_ERROR')
  }
  for (let i = 0; i < MAX_API_KEYS; i++) await createKey(owner, ['agents:read'])
  assertRefused(await owner.post(KEYS, body), 409, 'CONFLICT', /20 API keys/)
})

test('a key stops working when it expires, and with its account', async (t) => {
  let offset = 0
  const service = await startTestService(t, {}, () => Date.now() + offset)
  const owner = await newOwner(service, 'ada')
  const { db } = service.operator
  const key = await createKey(owner, ['agents:read', 'claim_tokens:create'], { expiresInDays: 1 })
  await suspendOwner({ db, now: Date.now }, owner.ownerId, 'under_review')
  assertRefused(await withKey(service, key.secret), 403, 'FORBIDDEN', /suspended/)
  const body = { name: 'CI', scopes: ['agents:read'] }
  assertRefused(await owner.post(KEYS, body), 403, 'FORBIDDEN', /suspended/)

  const grace = await newOwner(service, 'grace')
  const hers = await createKey(grace)
  assert.equal((await withKey(service, hers.secret)).status, 200)
  const deletion = await grace.post('/api/account/deletion', { username: 'grace' })
  assert.equal(deletion.status, 200, deletion.text)
  assertRefused(await withKey(service, hers.secret), 401, 'UNAUTHENTICATED')

  const eve = await newOwner(service, 'eve')
  const short = await createKey(eve, ['agents:read'], { expiresInDays: 1 })
  offset = 86_400_000 - 60_000
  assert.equal((await withKey(service, short.secret)).status, 200)
  offset = 86_400_000 + 1000
  assertRefused(await withKey(service, short.secret), 401, 'UNAUTHENTICATED')
})

test('nothing but the key itself in the Authorization header is a key', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const { secret, id } = await createKey(owner)
  const token = await service.operator.issueToken(owner.ownerId)
  const session = owner.cookie.split('=')[1] as string
  const hex = secret.slice('svc-key-'.length)
  for (const wrong of [
    ...[`${secret}0`, secret.slice(0, -1), secret.toUpperCase(), hex, `acme-key-${hex}`],
    ...[id, token, session, `svc-key-${'0'.repeat(32)}`],
  ]) {
    assertRefused(await withKey(service, wrong), 401, 'UNAUTHENTICATED')
  }
  const url = `${AGENTS}?key=${secret}`
  assertRefused(await ask(service, url), 400, 'VALIDATION_ERROR')
  const name = owner.cookie.split('=')[0]
  for (const headers of [
    { authorization: `Basic ${Buffer.from(`${secret}:`).toString('base64')}` },
    { cookie: `${name}=${secret}` },
    { 'x-api-key': secret },
  ]) {
    assertRefused(await ask(service, AGENTS, { headers }), 401, 'UNAUTHENTICATED')
  }
  const lower = await ask(service, AGENTS, { headers: { authorization: `bearer ${secret}` } })
  assert.equal(lower.status, 200, 'the scheme is case-insensitive (RFC 9110 section 11.1)')

  const both = { cookie: owner.cookie, authorization: `Bearer ${secret}` }
  const refused = await ask(service, AGENTS, { headers: both })
  assertRefused(refused, 400, 'VALIDATION_ERROR', /only one/)
  const stale = { ...both, cookie: `${name}=${'x'.repeat(43)}` }
  assertRefused(await ask(service, AGENTS, { headers: stale }), 400, 'VALIDATION_ERROR')
  const ended = await post(service, '/api/session/end', {}, 'application/json', both)
  assertRefused(ended, 400, 'VALIDATION_ERROR')
  const crossSite = { authorization: `Bearer ${secret}`, origin: 'https://evil.example' }
  const forged = await post(service, '/api/agents/token', {}, 'application/json', crossSite)
  assertRefused(forged, 403, 'FORBIDDEN')
})
