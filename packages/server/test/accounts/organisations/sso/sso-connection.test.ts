import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../../test/support/answer.ts'
import { startDnsServer } from '../../../../../../test/support/dns-server.ts'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import { startTestService } from '../../../../../../test/support/service.ts'
import { HOUR_MS } from '../../../../../../test/support/sign-in-by.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { Visitor } from '../../../../../../test/support/visitor.ts'
import { startLoopbackServer } from '../../../http/outbound/support/loopback-server.ts'
import { startCanary } from '../../../http/outbound/test-perspective.ts'
import { CLIENT_SECRET } from '../../identity/oidc-server.ts'
import {
  codeIn,
  connect,
  connectionTo,
  givePasskey,
  hostsOf,
  memberNamed,
  signInBySso,
  startIdp,
  startSsoWorld,
} from './sso-world.ts'

const SSO = '/api/account/sso'

test('a connection shows its settings and checks, and never its secret', async (t) => {
  const { service, acme, idp } = await startSsoWorld(t)
  const connected = await connect(acme, idp.url, { roleMap: { 'Gruppe Ä': 'viewer' } })
  const { origin } = service.settings.baseUrl
  assert.match(connected.callbackUrl, /\/sign-in\/organisation\/[1-9A-HJ-NP-Za-km-z]{16}$/)
  assert.ok(connected.callbackUrl.startsWith(origin))
  assert.equal(connected.signInUrl, `${origin}/dashboard/sign-in?organisation=acme`)
  assert.deepEqual(
    connected.checks.map(({ name, ok }) => [name, ok]),
    [
      ['discovery', true],
      ['authorization code', true],
      ['PKCE', true],
      ['keys', true],
      ['client authentication', true],
    ],
  )
  const read = await acme.admin.get(SSO)
  const { connection } = jsonOf<{ connection: Record<string, unknown> }>(read)
  const { checks: _, ...stored } = connected
  assert.deepEqual(connection, stored)
  assert.deepEqual(connection.roleMap, { 'Gruppe Ä': 'viewer' })
  const row = await service.operator.db.read
    .selectFrom('sso_connections')
    .select('sealed_secret')
    .executeTakeFirstOrThrow()
  assert.ok(!Buffer.from(row.sealed_secret as Uint8Array).includes(CLIENT_SECRET))
  assert.ok(!read.text.includes(CLIENT_SECRET))
  const notifications = await acme.admin.get('/api/account/notifications')
  assert.match(notifications.text, /The identity provider at 127\.0\.0\.1:\d+ was connected/)
})

test('a wrong client secret is told, and a connection without one in the request keeps it', async (t) => {
  const world = await startSsoWorld(t)
  const { acme, idp } = world
  const wrong = await connect(acme, idp.url, { clientSecret: 'wrong' })
  const { ok, detail } = wrong.checks.at(-1) ?? {}
  assert.equal(ok, false)
  assert.match(detail ?? '', /invalid_client/)
  await connect(acme, idp.url)
  const kept = await connect(acme, idp.url, { clientSecret: undefined, roleMap: { new: 'viewer' } })
  assert.equal(kept.checks.at(-1)?.ok, true)
  const { page } = await signInBySso(world, { groups: ['new'] })
  assert.equal(codeIn(page), null)
  const dropped = await connect(acme, idp.url, { clientSecret: null })
  assert.equal(dropped.hasSecret, false)
})

test('only an admin with a recent sign-in connects, and the organisation needs an emergency admin', async (t) => {
  const idp = await startIdp(t)
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(idp) })
  const acme = await createOrganisation(service)
  const put = (who: typeof acme.admin) => who.send('PUT', SSO, connectionTo(idp.url))
  assertRefused(await put(acme.admin), 409, 'CONFLICT', /emergency admin/)
  assert.equal(jsonOf<{ connection: null }>(await acme.admin.get(SSO)).connection, null)
  assertRefused(await acme.admin.send('DELETE', SSO), 404, 'NOT_FOUND')
  await givePasskey(service, acme.admin.ownerId)
  const manager = await acme.addMember('manager', 'manager')
  assertRefused(await put(manager), 403, 'FORBIDDEN')
  assertRefused(await manager.get(SSO), 403, 'FORBIDDEN')
  const old = await signIn(service, acme.admin.ownerId, Date.now() - HOUR_MS)
  const path = `${SSO}?organisation=acme`
  const late = await old.send('PUT', path, connectionTo(idp.url))
  assertRefused(late, 403, 'RECENT_SIGN_IN_REQUIRED')
  assertRefused(await old.send('DELETE', path), 403, 'RECENT_SIGN_IN_REQUIRED')
  assert.equal((await put(acme.admin)).status, 200)
  // The last passkey of the last emergency admin stays.
  const [passkey] = await service.operator.db.read.selectFrom('passkeys').selectAll().execute()
  const removal = await acme.admin.self.send(
    'DELETE',
    `/api/account/passkeys/${passkey?.credential_id}`,
  )
  assert.ok([400, 409].includes(removal.status), removal.text)
})

test('a role that only a person can give, and other malformed settings are refused', async (t) => {
  const { acme, idp } = await startSsoWorld(t)
  const cases = [
    { roleMap: { admins: 'admin' } },
    { roleMap: { admins: 'owner' } },
    { subjectClaim: 'email' },
    { issuer: 'ftp://idp.example.com' },
    { issuer: 'https://user@idp.example.com' },
    { issuer: 'https://idp.example.com/?tenant=a' },
    { unknown: true },
  ]
  for (const change of cases) {
    const answer = await acme.admin.send('PUT', SSO, connectionTo(idp.url, change))
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})

test('no connection is made to an issuer that is not on the public internet', async (t) => {
  const dns = await startDnsServer(t)
  const canary = await startCanary(t)
  const target = await startLoopbackServer(t, () => ({ status: 200, body: {} }))
  const redirecting = await startLoopbackServer(t, () => ({
    status: 302,
    headers: { location: `${target.url}/.well-known/openid-configuration` },
  }))
  const service = await startTestService(t, {
    DNS_RESOLVERS: dns.address,
    SSO_PRIVATE_HOSTS: hostsOf(redirecting),
  })
  const acme = await createOrganisation(service)
  await givePasskey(service, acme.admin.ownerId)
  dns.set('inside.example.com', 'A', ['127.0.0.1'])
  dns.set('metadata.example.com', 'A', ['169.254.169.254'])
  dns.set('half.example.com', 'A', ['1.1.1.1', '10.0.0.1'])
  dns.set('six.example.com', 'AAAA', ['::1'])
  dns.setInTurn('rebinding.example.com', 'A', [['127.0.0.1'], ['1.1.1.1']])
  const issuers = [
    `http://127.0.0.1:${canary.port}`,
    `https://127.0.0.1:${canary.port}`,
    `https://localhost:${canary.port}`,
    `http://localhost:${canary.port}`,
    'https://127.0.0.1',
    'https://127.1',
    'https://2130706433',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://169.254.169.254',
    'http://169.254.169.254',
    'https://inside.example.com',
    'https://metadata.example.com',
    'https://half.example.com',
    'https://six.example.com',
    'https://rebinding.example.com',
    'https://inside.example.com:8443',
    'http://inside.example.com',
    redirecting.url,
  ]
  for (const issuer of issuers) {
    const answer = await acme.admin.send('PUT', SSO, connectionTo(issuer))
    assertRefused(answer, 400, 'VALIDATION_ERROR', /cannot be used \(discovery\)/)
    const asked = new URL(issuer).hostname
    const resolved = ['127.0.0.1', '169.254.169.254', '10.0.0.1']
    assert.ok(
      !resolved.some((each) => answer.text.includes(each) && !`${issuer} ${asked}`.includes(each)),
    )
  }
  assert.equal(canary.connections, 0)
  assert.equal(redirecting.received.length, 1)
  assert.deepEqual(target.received, [])
  assert.equal(jsonOf<{ connection: null }>(await acme.admin.get(SSO)).connection, null)
})

test('the endpoints that an issuer names are under the same guard as the issuer', async (t) => {
  const inside = await startLoopbackServer(t, () => ({ status: 200, body: { keys: [{}] } }))
  const idp = await startIdp(t, {
    discovery: (metadata) => ({ ...metadata, jwks_uri: `${inside.url}/jwks` }),
  })
  const tokens = await startIdp(t, {
    discovery: (metadata) => ({ ...metadata, token_endpoint: `${inside.url}/token` }),
  })
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(idp, tokens) })
  const acme = await createOrganisation(service)
  await givePasskey(service, acme.admin.ownerId)
  const answer = await acme.admin.send('PUT', SSO, connectionTo(idp.url))
  assertRefused(answer, 400, 'VALIDATION_ERROR', /\(keys\)/)
  const { checks } = await connect(acme, tokens.url)
  assert.equal(checks.at(-1)?.ok, false)
  const { page } = await signInBySso({ service, idp: tokens }, { groups: ['leads'] })
  assert.equal(codeIn(page), 'unavailable')
  assert.deepEqual(inside.received, [])
})

test('an identity provider that describes itself wrongly is refused', async (t) => {
  const wrong = [
    { issuer: 'https://another.example.com' },
    { response_types_supported: ['id_token'] },
    { code_challenge_methods_supported: ['plain'] },
    { jwks_uri: undefined },
    { padding: 'x'.repeat(300_000) },
  ]
  const idps = await Promise.all(
    wrong.map((changes) => startIdp(t, { discovery: (metadata) => ({ ...metadata, ...changes }) })),
  )
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(...idps) })
  const acme = await createOrganisation(service)
  await givePasskey(service, acme.admin.ownerId)
  for (const idp of idps) {
    const answer = await acme.admin.send('PUT', SSO, connectionTo(idp.url))
    assertRefused(answer, 400, 'VALIDATION_ERROR', /cannot be used/)
  }
})

test('another issuer or client is another connection: no link, session or membership survives', async (t) => {
  const first = await startIdp(t)
  const second = await startIdp(t)
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(first, second) })
  const acme = await createOrganisation(service)
  await givePasskey(service, acme.admin.ownerId)
  const before = await connect(acme, first.url)
  const person = { sub: 'the-same', groups: ['leads'], name: 'Lea' }
  const { visitor } = await signInBySso({ service, idp: first }, person)
  const lea = await memberNamed(acme, 'Lea')
  assert.equal((await visitor.get('/api/account/agents')).status, 200)

  const changed = await connect(acme, first.url, { roleMap: { leads: 'viewer' } })
  assert.equal(changed.callbackUrl, before.callbackUrl)
  assert.equal((await visitor.get('/api/account/agents')).status, 200)

  const after = await connect(acme, second.url)
  assert.notEqual(after.callbackUrl, before.callbackUrl)
  assert.equal((await visitor.get('/api/account/agents')).status, 401)
  assert.equal(await memberNamed(acme, 'Lea'), undefined)
  const again = await signInBySso({ service, idp: second }, person)
  assert.equal(codeIn(again.page), null)
  const newLea = await memberNamed(acme, 'Lea')
  assert.notEqual(newLea?.id, lea?.id)

  assert.equal((await acme.admin.send('DELETE', SSO)).status, 204)
  assert.equal((await again.visitor.get('/api/account/agents')).status, 401)
  const gone = await new Visitor(service).post('/sign-in/organisation?name=acme')
  assertRefused(gone, 404, 'NOT_FOUND')
})
