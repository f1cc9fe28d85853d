import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionState } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import {
  allOwnerOperations,
  sendOperation,
} from '../../../../../../test/support/owner-operations.ts'
import { claimAgent, startTestService } from '../../../../../../test/support/service.ts'
import { HOUR_MS, TestClock } from '../../../../../../test/support/sign-in-by.ts'
import { Visitor } from '../../../../../../test/support/visitor.ts'
import { LEAST_ROLES } from '../../../../src/accounts/owners/roles.ts'
import {
  beginSignIn,
  codeIn,
  comeBack,
  connect,
  givePasskey,
  hostsOf,
  linkToSso,
  memberNamed,
  signInBySso,
  startIdp,
  startSsoWorld,
} from './sso-world.ts'

const AGENTS = '/api/account/agents'

/** Two organisations, each with an identity provider of its own. */
async function startTwo(t: Parameters<typeof startIdp>[0]) {
  const idp = await startIdp(t)
  const rival = await startIdp(t)
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(idp, rival) })
  const acme = await createOrganisation(service)
  const evil = await createOrganisation(service, 'evil')
  await givePasskey(service, acme.admin.ownerId)
  await givePasskey(service, evil.admin.ownerId)
  const connection = await connect(acme, idp.url)
  await connect(evil, rival.url)
  return { service, idp, rival, acme, evil, connection }
}

const cookieOf = (visitor: Visitor) =>
  [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

test('a linked admin of two organisations is a manager of one in a session by its identity provider', async (t) => {
  const { service, rival, acme, evil } = await startTwo(t)
  // The victim administers acme, and joins the attacker's organisation as an admin too.
  const victim = acme.admin
  const joined = await evil.addMember('joined', 'admin')
  await service.operator.db.write((tx) =>
    tx.db
      .updateTable('memberships')
      .set({ person_id: victim.ownerId })
      .where('id', '=', joined.membership)
      .execute(),
  )
  const linked = await linkToSso({ service, idp: rival }, victim.self, 'evil', { sub: 'victim' })
  assert.equal(linked, '/dashboard/account/security?linked=organisation')

  const { visitor, page } = await signInBySso(
    { service, idp: rival },
    { sub: 'victim', email: 'acme-admin@example.com', email_verified: true, groups: ['admin'] },
    new Visitor(service),
    'evil',
  )
  assert.equal(page, '/dashboard/o/evil/agents')
  const session = jsonOf<SessionState>(await visitor.get('/api/session'))
  assert.deepEqual(
    session.organisations.map(({ username, role }) => [username, role]),
    [['evil', 'manager']],
  )
  assert.equal(session.person?.limited, true)
  const own = jsonOf<SessionState>(await victim.self.get('/api/session'))
  assert.deepEqual(
    own.organisations.map(({ username, role }) => [username, role]),
    [
      ['acme', 'admin'],
      ['evil', 'admin'],
    ],
  )
  // It implies its organisation, and names no other.
  assert.equal((await visitor.get(AGENTS)).status, 200)
  assert.equal((await visitor.get(`${AGENTS}?organisation=evil`)).status, 200)
  for (const other of ['acme', 'nobody', 'evil-admin']) {
    assertRefused(await visitor.get(`${AGENTS}?organisation=${other}`), 404, 'NOT_FOUND')
  }
  assertRefused(await visitor.get('/api/account/sso'), 403, 'FORBIDDEN', /Your role .* is manager/)

  const headers = { cookie: cookieOf(visitor), origin: service.settings.baseUrl.origin }
  const personal = (await allOwnerOperations(service)).filter(
    ({ operation: { operationId, security } }) =>
      LEAST_ROLES[operationId] === undefined &&
      operationId !== 'signOut' &&
      security.some((each) => 'session' in each),
  )
  assert.ok(personal.length > 10)
  for (const operation of personal) {
    const { status, text } = await sendOperation(service, operation, headers)
    assert.equal(status, 403, `${operation.operation.operationId}: ${text}`)
  }
  assert.equal((await visitor.post('/api/session/end')).status, 204)
})

test('an identity provider that asserts the subject of another reaches only its own organisation', async (t) => {
  const { service, idp, rival, acme, evil } = await startTwo(t)
  const person = { sub: 'alice', groups: ['leads'], name: 'Alice' }
  await signInBySso({ service, idp }, person)
  const { visitor } = await signInBySso(
    { service, idp: rival },
    { ...person, name: 'Mallory' },
    new Visitor(service),
    'evil',
  )
  assertRefused(await visitor.get(`${AGENTS}?organisation=acme`), 404, 'NOT_FOUND')
  assert.notEqual((await memberNamed(acme, 'Alice'))?.id, (await memberNamed(evil, 'Mallory'))?.id)
  assert.equal(await memberNamed(acme, 'Mallory'), undefined)
})

test('responses of two connections are not mixed, replayed or taken by another browser', async (t) => {
  const { service, idp, rival, connection } = await startTwo(t)
  const person = { groups: ['leads'] }
  idp.person = person
  rival.person = person
  const visitor = new Visitor(service)

  // The response of evil's identity provider at the callback of acme.
  const atRival = rival.authorize(await beginSignIn(visitor, 'evil'))
  const mixed = new URL(`${connection.callbackUrl}${atRival.search}`)
  assert.equal(codeIn(await comeBack(visitor, mixed)), 'flow-expired')
  // The flow is used up, also for its own callback.
  assert.equal(codeIn(await comeBack(visitor, atRival)), 'flow-expired')

  // A response with the issuer of another (RFC 9207).
  const wrongIssuer = idp.authorize(await beginSignIn(visitor))
  wrongIssuer.searchParams.set('iss', rival.url)
  assert.equal(codeIn(await comeBack(visitor, wrongIssuer)), 'invalid-response')

  const callback = idp.authorize(await beginSignIn(visitor))
  const stranger = new Visitor(service)
  assert.equal(codeIn(await comeBack(stranger, callback)), 'flow-expired')
  assert.equal(codeIn(await comeBack(visitor, callback)), null)
  assert.equal(codeIn(await comeBack(visitor, callback)), 'flow-expired')
  // Of a connection that does not exist.
  const unknown = new URL(`/sign-in/organisation/unknown${callback.search}`, service.url)
  const page = await comeBack(visitor, unknown)
  assert.match(page, /failed=unknown/)
})

test('a page of another site cannot begin a sign-in', async (t) => {
  const { service } = await startSsoWorld(t)
  const visitor = new Visitor(service)
  Object.assign(visitor.headers, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
  const begun = await visitor.post('/sign-in/organisation?name=acme')
  assertRefused(begun, 403, 'FORBIDDEN', /Origin/)
  assert.equal(visitor.cookies.size, 0)
  assert.notEqual((await visitor.get('/sign-in/organisation?name=acme')).status, 303)
})

test('a flow that began before the settings changed is not completed with the old ones', async (t) => {
  const { service, acme, idp } = await startSsoWorld(t)
  const visitor = new Visitor(service)
  idp.person = { groups: ['leads'] }
  const callback = idp.authorize(await beginSignIn(visitor))
  await connect(acme, idp.url, { clientId: 'countersign', groupClaim: 'other' })
  assert.equal(codeIn(await comeBack(visitor, callback)), 'no-role')
  const again = idp.authorize(await beginSignIn(visitor))
  assert.equal((await acme.admin.send('DELETE', '/api/account/sso')).status, 204)
  assert.equal(codeIn(await comeBack(visitor, again)), 'unknown-provider')
})

test('the session ends after 12 hours, and only a fresh authentication is a recent sign-in', async (t) => {
  const clock = new TestClock()
  const world = await startSsoWorld(t, { now: clock.now })
  const seconds = () => Math.floor(clock.now() / 1000)
  const person = { groups: ['leads'] }
  const createKey = (visitor: Visitor) =>
    visitor.post('/api/account/api-keys', { name: 'CI', scopes: ['agents:read'] })
  const { visitor } = await signInBySso(world, person)
  assert.equal((await createKey(visitor)).status, 201)

  const old = await signInBySso(world, { ...person, auth_time: seconds() - 3600 })
  assertRefused(await createKey(old.visitor), 403, 'RECENT_SIGN_IN_REQUIRED')
  const silent = await signInBySso(world, { ...person, auth_time: undefined })
  assert.equal(codeIn(silent.page), null)
  assertRefused(await createKey(silent.visitor), 403, 'RECENT_SIGN_IN_REQUIRED')
  for (const auth_time of ['now', -1, 1.5]) {
    const { page } = await signInBySso(world, { ...person, auth_time })
    assert.equal(codeIn(page), 'invalid-response', String(auth_time))
  }
  // A clock that is ahead makes no session that stays recent.
  const ahead = await signInBySso(world, { ...person, auth_time: seconds() + 86_400 })
  assert.equal((await createKey(ahead.visitor)).status, 201)

  clock.offset += 11 * 60_000
  assertRefused(await createKey(ahead.visitor), 403, 'RECENT_SIGN_IN_REQUIRED')
  clock.offset += 12 * HOUR_MS - 12 * 60_000
  assert.equal((await visitor.get(AGENTS)).status, 200)
  clock.offset += 60_000
  assert.equal((await visitor.get(AGENTS)).status, 401)
})

test('max_age=0 is asked for, and the scope of the groups only if it is offered', async (t) => {
  const world = await startSsoWorld(t, {
    wrong: { discovery: (metadata) => ({ ...metadata, scopes_supported: ['openid', 'groups'] }) },
  })
  await signInBySso(world, { groups: ['leads'] })
  const [request] = world.idp.begun.values()
  assert.equal(request?.get('max_age'), '0')
  assert.equal(request?.get('scope'), 'openid profile groups')
})

test('a session by an identity provider starts no recovery, however old the link is', async (t) => {
  const clock = new TestClock()
  const world = await startSsoWorld(t, { now: clock.now })
  await world.acme.verify()
  const did = await claimAgent(world.service, world.acme.id)
  const first = await signInBySso(world, { groups: ['leads'] })
  clock.advance(200)
  const now = Math.floor(clock.now() / 1000)
  const times = { iat: now, exp: now + 60, auth_time: now }
  const { visitor } = await signInBySso(world, { groups: ['leads'], ...times }, first.visitor)
  const answer = await visitor.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
  assertRefused(answer, 403, 'RECENT_SIGN_IN_REQUIRED')
})
