import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type AccountExport,
  type Activity,
  type AgentGrants,
  type CreatedApiKey,
  type GrantIssuers,
  keyThumbprint,
} from '@countersign/protocol'
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import {
  assign,
  createIssuer,
  type GrantWorld,
  grantFor,
  METADATA,
  newGrantWorld,
  requestFor,
  requestGrant,
  startAuthorizationServer,
  type TestAuthorizationServer,
} from '../../../../../test/support/grant-world.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotateKey } from '../../../../../test/support/rotate-key.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../../test/support/sign-request.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { until } from '../../../../../test/support/until.ts'
import { rotateIssuerKey } from '../../../src/secrets/issuer-keys/rotation.ts'

const cleanups: (() => unknown)[] = []
const file: Cleanup = { after: (end) => cleanups.unshift(end) }
let service: TestService
let server: TestAuthorizationServer

before(async () => {
  service = await startTestService(file)
  server = await startAuthorizationServer(file)
})
after(async () => {
  for (const end of cleanups) await end()
})

test('a grant is a JWT of the agent’s issuer that an authorization server verifies by discovery', async () => {
  const world = await newGrantWorld(service)
  const before = Math.floor(Date.now() / 1000)
  const resource = 'https://api.example/'
  const answer = await requestGrant(world, { ...requestFor(server), resource })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const { assertion, grantType, issuer, expiresAt } = jsonOf<Record<string, string>>(answer)
  assert.equal(grantType, 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  assert.equal(issuer, world.issuer.issuer)

  const configuration = jsonOf<Record<string, string>>(
    await ask(service, `${new URL(issuer ?? '').pathname}/.well-known/openid-configuration`),
  )
  const { pathname } = new URL(issuer ?? '')
  assert.deepEqual(jsonOf(await ask(service, METADATA + pathname)), configuration)
  assert.equal(configuration.issuer, issuer)
  const keys = createRemoteJWKSet(new URL(configuration.jwks_uri ?? ''))
  const { payload, protectedHeader } = await jwtVerify(assertion ?? '', keys, {
    issuer: issuer ?? '',
    audience: server.url,
    typ: 'authorization-grant+jwt',
    algorithms: ['ES256'],
  })
  assert.deepEqual(Object.keys(protectedHeader).sort(), ['alg', 'kid', 'typ'])
  const { iat = 0, exp = 0, jti, ...claims } = payload
  assert.deepEqual(claims, {
    iss: issuer,
    sub: world.did,
    aud: [server.url, server.tokenEndpoint],
    identityMethod: 'in-person',
    identityLevel: 'verified',
    grade: 'C',
    resource,
  })
  assert.ok(iat >= before && exp - iat === 300)
  assert.equal(Date.parse(expiresAt ?? ''), exp * 1000)
  assert.match(jti ?? '', /^[\w-]{22}$/)
  const again = decodeJwt((await grantFor(world, server)).assertion)
  assert.notEqual(again.jti, jti)
})

test('issuers are random, have keys of their own, and link no two agents', async () => {
  const world = await newGrantWorld(service)
  const other = await createIssuer(world.owner, 'Other')
  assert.match(other.id, /^[0-9a-f]{32}$/)
  const keysOf = async (issuer: string) =>
    jsonOf<{ keys: { kid: string }[] }>(
      await ask(service, `${new URL(issuer).pathname}/jwks.json`),
    ).keys.map(({ kid }) => kid)
  const [ofFirst, ofOther] = [await keysOf(world.issuer.issuer), await keysOf(other.issuer)]
  const ofService = jsonOf<{ keys: { kid: string }[] }>(
    await ask(service, '/.well-known/jwks.json'),
  ).keys.map(({ kid }) => kid)
  const all = [...ofFirst, ...ofOther, ...ofService]
  assert.equal(ofFirst.length, 1)
  assert.equal(new Set(all).size, all.length)
  const { assertion } = await grantFor(world, server)
  const response = await fetch(`${other.issuer}/jwks.json`)
  const wrong = createLocalJWKSet((await response.json()) as never)
  await assert.rejects(jwtVerify(assertion, wrong), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('the owner lists, assigns and deletes issuers; a deleted one has an empty key set', async () => {
  const world = await newGrantWorld(service)
  const { owner, did, issuer } = world
  const list = async () =>
    jsonOf<GrantIssuers>(await owner.get('/api/account/grant-issuers')).issuers
  assert.deepEqual(await list(), [{ ...issuer, agents: 1 }])
  await grantFor(world, server)
  await grantFor(world, server)
  const grants = jsonOf<AgentGrants>(await owner.get(`/api/account/agents/${did}/grants`))
  assert.equal(grants.issuer?.id, issuer.id)
  const [used, ...others] = grants.authorizationServers
  assert.deepEqual([used?.audience, used?.grants, others], [server.url, 2, []])

  const stranger = await signIn(service, await service.operator.addVerifiedOwner())
  const path = `/api/account/grant-issuers/${issuer.id}`
  assertRefused(await stranger.send('DELETE', path), 404, 'NOT_FOUND')
  const hers = await createIssuer(stranger)
  const steal = { issuer: hers.id }
  const assignment = `/api/account/agents/${did}/grant-issuer`
  assertRefused(await owner.send('PUT', assignment, steal), 404, 'NOT_FOUND')
  assertRefused(await stranger.send('PUT', assignment, steal), 404, 'NOT_FOUND')
  assertRefused(await stranger.get(`/api/account/agents/${did}/grants`), 404, 'NOT_FOUND')

  const exported = jsonOf<AccountExport>(await owner.get('/api/account/export'))
  assert.deepEqual(exported.grantIssuers, [{ ...issuer, agents: 1, assigned: [did] }])
  assert.equal((await owner.send('DELETE', path)).status, 204)
  assert.deepEqual(await list(), [])
  const { pathname } = new URL(issuer.issuer)
  assert.deepEqual(jsonOf(await ask(service, `${pathname}/jwks.json`)), { keys: [] })
  const configuration = await ask(service, `${pathname}/.well-known/openid-configuration`)
  assertRefused(configuration, 404, 'NOT_FOUND')
  assertRefused(await requestGrant(world, requestFor(server)), 409, 'CONFLICT', /no grant issuer/)
  assertRefused(await owner.send('DELETE', path), 404, 'NOT_FOUND')

  const { events } = jsonOf<Activity>(await owner.get('/api/account/activity?kind=owner'))
  assert.deepEqual(
    events.slice(0, 4).map(({ type, facts }) => [type, facts]),
    [
      ['owner.grant_issuer_deleted', { grantIssuer: issuer.id, name: 'Shop' }],
      ['owner.grant_first_issued', { agent: did, audience: server.url }],
      ['owner.grant_issuer_assigned', { agent: did, grantIssuer: issuer.id }],
      ['owner.grant_issuer_created', { grantIssuer: issuer.id, name: 'Shop' }],
    ],
  )
})

test('an agent without an issuer gets no grant, and nothing is fetched for it', async () => {
  const world = await newGrantWorld(service)
  await assign(world, null)
  const { length } = server.requested
  // The agent can tell its owner where to choose one.
  const page = `${service.url}/dashboard/agents/${world.did}/oauth`
  const refused = await requestGrant(world, requestFor(server))
  assertRefused(refused, 409, 'CONFLICT', new RegExp(`no grant issuer\\. Ask .* ${page}\\.$`))
  assert.equal(server.requested.length, length)
})

test('API keys need the scope for grants', async () => {
  const { owner, did } = await newGrantWorld(service)
  const keyWith = async (scope: string) =>
    jsonOf<CreatedApiKey>(
      await owner.post('/api/account/api-keys', { name: scope, scopes: [scope] }),
    ).secret
  const [reader, writer] = [await keyWith('grants:read'), await keyWith('grants:write')]
  const by = (key: string, method: string, target: string, body?: object) =>
    ask(service, target, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const agent = `/api/account/agents/${did}`
  assert.equal((await by(reader, 'GET', '/api/account/grant-issuers')).status, 200)
  assert.equal((await by(reader, 'GET', `${agent}/grants`)).status, 200)
  assert.equal((await by(writer, 'PUT', `${agent}/grant-issuer`, { issuer: null })).status, 200)
  assertRefused(await by(writer, 'GET', `${agent}/grants`), 403, 'FORBIDDEN')
  const refused = await by(reader, 'PUT', `${agent}/grant-issuer`, { issuer: null })
  assertRefused(refused, 403, 'FORBIDDEN')
})

test('only the agent itself gets a grant, by a request that nobody has changed', async () => {
  const world = await newGrantWorld(service)
  const other = await newGrantWorld(service)
  const request = requestFor(server)
  const refused = async (...args: Parameters<typeof requestGrant>) => {
    const { length } = server.requested
    const answer = await requestGrant(...args)
    assert.equal(server.requested.length, length, 'nothing is fetched')
    return answer
  }
  const unsigned = [['Content-Type', 'application/json']] as const
  assertRefused(await refused(world, request, { headers: unsigned }), 401, 'UNAUTHENTICATED')
  assertRefused(await refused(world, request, { path: other.did }), 403, 'FORBIDDEN')
  const stranger = { key: newKey() }
  assertRefused(await refused(world, request, stranger), 401, 'INVALID_SIGNATURE', /unknown-key/)
  const elsewhere = { origin: 'https://other.example' }
  const forwarded = await refused(world, request, elsewhere)
  assertRefused(forwarded, 401, 'INVALID_SIGNATURE', /bad-signature/)
  const swapped = { signedBody: JSON.stringify({ ...request, resource: 'https://a.example/' }) }
  assertRefused(await refused(world, request, swapped), 401, 'INVALID_SIGNATURE', /digest/)
})

test('a request is accepted once, also when its copies arrive at the same time', async () => {
  const world = await newGrantWorld(service)
  const request = requestFor(server)
  const headers = await signedHeaders(service, world.did, world.key, {
    method: 'POST',
    url: `${service.url}/api/v1/agent/${world.did}/grant`,
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify(request),
  })
  const copies = await Promise.all(
    Array.from({ length: 8 }, () => requestGrant(world, request, { headers })),
  )
  assert.equal(copies.filter(({ status }) => status === 200).length, 1)
  const replay = await requestGrant(world, request, { headers })
  assertRefused(replay, 401, 'INVALID_SIGNATURE', /replay/)
})

test('one agent cannot request grants without end', async () => {
  const world = await newGrantWorld(service)
  const keyid = keyThumbprint(Buffer.from(world.key.publicKey, 'base64'))
  await service.operator.db.write(async ({ db }) => {
    for (let i = 0; i < 100; i++) {
      const expires_at = Date.now() + 3_600_000
      await db
        .insertInto('used_nonces')
        .values({ hash: `${keyid}${i}`, keyid, expires_at })
        .execute()
    }
  })
  const refused = await requestGrant(world, requestFor(server))
  assertRefused(refused, 429, 'RATE_LIMITED')
  assert.equal(refused.headers.get('retry-after'), '30')
  const rows = await service.operator.db.read
    .selectFrom('used_nonces')
    .select('hash')
    .where('keyid', '=', keyid)
    .execute()
  assert.equal(rows.length, 100, 'a refused request leaves no row')
})

test('suspended and revoked agents, suspended owners and former keys get no grant', async () => {
  const world = await newGrantWorld(service)
  const request = requestFor(server)
  await setStatus(service, world.did, 'suspended')
  assertRefused(await requestGrant(world, request), 409, 'AGENT_NOT_ACTIVE', /suspended/)
  await setStatus(service, world.did, 'active')
  await grantFor(world, server)
  const next = newKey()
  await rotateKey(service, world.did, Buffer.from(next.publicKey, 'base64'))
  assertRefused(await requestGrant(world, request), 401, 'INVALID_SIGNATURE', /unknown-key/)
  const rotated = { ...world, key: next }
  await grantFor(rotated, server)
  await setStatus(service, world.did, 'revoked')
  assertRefused(await requestGrant(rotated, request), 409, 'AGENT_NOT_ACTIVE', /revoked/)
  const assignment = `/api/account/agents/${world.did}/grant-issuer`
  await assign(world, null)
  const again = await world.owner.send('PUT', assignment, { issuer: world.issuer.id })
  assertRefused(again, 409, 'CONFLICT', /revoked/)
})

test('an agent that is suspended, moved or rekeyed during the fetch gets no grant', async () => {
  const duringFetch = async (change: (world: GrantWorld) => Promise<unknown>) => {
    const world = await newGrantWorld(service)
    const slow = await startAuthorizationServer(file)
    slow.beforeAnswer = () => change(world)
    return requestGrant(world, requestFor(slow))
  }
  assertRefused(await duringFetch((world) => assign(world, null)), 409, 'CONFLICT')
  const suspended = await duringFetch(({ did }) => setStatus(service, did, 'suspended'))
  assertRefused(suspended, 409, 'AGENT_NOT_ACTIVE')
  const rekeyed = await duringFetch(({ did }) =>
    rotateKey(service, did, Buffer.from(newKey().publicKey, 'base64')),
  )
  assertRefused(rekeyed, 409, 'CONFLICT', /key of this agent has changed/)
})

test('a rotation of the issuer keys changes the keys of grant issuers, without a gap', async (t) => {
  const rotating = await startTestService(t)
  const world = await newGrantWorld(rotating)
  const as = await startAuthorizationServer(t)
  const first = await grantFor(world, as)
  const { pathname } = new URL(world.issuer.issuer)
  const keySet = async () =>
    createLocalJWKSet(jsonOf(await ask(rotating, `${pathname}/jwks.json`)) as never)
  const { operator, settings } = rotating
  const parts = { db: operator.db, folders: settings, now: Date.now }
  const { id } = await rotateIssuerKey(parts, 'regular')
  const kids = async () =>
    jsonOf<{ keys: unknown[] }>(await ask(rotating, `${pathname}/jwks.json`)).keys.length
  rotating.tick()
  await until(async () => (await kids()) === 2)
  await jwtVerify(first.assertion, await keySet())
  await jwtVerify((await grantFor(world, as)).assertion, await keySet())
  // One that was reported as compromised leaves the key set at once.
  await operator.db.write(({ db }) =>
    db.deleteFrom('issuer_key_reports').where('key_id', '=', id).execute(),
  )
  await operator.db.write(({ db }) =>
    db.updateTable('issuer_keys').set({ state: 'removed' }).where('id', '=', id).execute(),
  )
  await rotateIssuerKey(parts, 'compromised')
  rotating.tick()
  await until(async () => (await kids()) === 1)
  await assert.rejects(jwtVerify(first.assertion, await keySet()), {
    code: 'ERR_JWKS_NO_MATCHING_KEY',
  })
  await jwtVerify((await grantFor(world, as)).assertion, await keySet())
})

test('deleting an account erases its grants and keeps the ids of its issuers', async () => {
  const world = await newGrantWorld(service)
  await grantFor(world, server)
  const { username } = await service.operator.db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', world.owner.ownerId)
    .executeTakeFirstOrThrow()
  const deleted = await world.owner.post('/api/account/deletion', { username })
  assert.ok(deleted.status < 300, deleted.text)
  const { pathname } = new URL(world.issuer.issuer)
  assert.deepEqual(jsonOf(await ask(service, `${pathname}/jwks.json`)), { keys: [] })
  const { read } = service.operator.db
  const row = await read
    .selectFrom('grant_issuers')
    .selectAll()
    .where('id', '=', world.issuer.id)
    .executeTakeFirstOrThrow()
  assert.deepEqual([row.owner_id, row.name], [null, ''])
  const tail = world.did.slice(-24)
  const uses = await read.selectFrom('grant_uses').where('tail', '=', tail).select('tail').execute()
  assert.deepEqual(uses, [])
})

test('several agents can share an issuer', async () => {
  const world = await newGrantWorld(service)
  const key = newKey()
  const did = await claimAgent(service, world.owner.ownerId, key)
  const second = { ...world, did, key }
  await assign(second, world.issuer.id)
  const { assertion, issuer } = await grantFor(second, server)
  assert.equal(issuer, world.issuer.issuer)
  assert.equal(decodeJwt(assertion).sub, did)
})
