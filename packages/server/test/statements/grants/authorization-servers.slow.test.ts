import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import {
  METADATA,
  newGrantWorld,
  requestFor,
  requestGrant,
  startAuthorizationServer,
  type TestAuthorizationServer,
} from '../../../../../test/support/grant-world.ts'
import {
  type Cleanup,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'

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

test('mix-up: a grant is issued only for what the metadata name exactly', async () => {
  const world = await newGrantWorld(service)
  const evil = await startAuthorizationServer(file)
  const refused = async (metadata: unknown, reason: RegExp, request = requestFor(evil)) => {
    evil.pages.set(METADATA, { body: metadata })
    assertRefused(await requestGrant(world, request), 400, 'VALIDATION_ERROR', reason)
  }
  const { url, tokenEndpoint } = evil
  await refused({ issuer: server.url, token_endpoint: tokenEndpoint }, /do not name it/)
  await refused({ issuer: `${url}/`, token_endpoint: tokenEndpoint }, /do not name it/)
  await refused({ issuer: [url], token_endpoint: tokenEndpoint }, /do not name it/)
  await refused({ token_endpoint: tokenEndpoint }, /do not name it/)
  await refused([], /do not name it/)
  await refused(null, /do not name it/)
  await refused({ issuer: url }, /another token endpoint/)
  await refused({ issuer: url, token_endpoint: server.tokenEndpoint }, /another token endpoint/)
  await refused({ issuer: url, token_endpoint: `${tokenEndpoint}/` }, /another token endpoint/)
  // The agent was told the attacker's endpoint for an honest server.
  const mixedUp = { audience: server.url, tokenEndpoint }
  const { length } = evil.requested
  await refused({ issuer: server.url, token_endpoint: tokenEndpoint }, /another token/, mixedUp)
  assert.equal(evil.requested.length, length, 'the metadata come from the audience')
})

test('metadata: a redirect, an error or too much is refused; OpenID discovery is the fallback of 404', async () => {
  const world = await newGrantWorld(service)
  const other = await startAuthorizationServer(file)
  const metadata = { issuer: other.url, token_endpoint: other.tokenEndpoint }
  const attempt = () => requestGrant(world, requestFor(other))
  const moved = { status: 302, headers: { location: `${other.url}/moved` } }
  other.pages.set(METADATA, moved).set('/moved', { body: metadata })
  assertRefused(await attempt(), 400, 'VALIDATION_ERROR', /redirect/)
  assert.ok(!other.requested.includes('/moved'))
  other.pages.set(METADATA, { status: 500 })
  assertRefused(await attempt(), 400, 'VALIDATION_ERROR', /status 500/)
  other.pages.delete(METADATA)
  assertRefused(await attempt(), 400, 'VALIDATION_ERROR', /no authorization server metadata/)
  other.pages.set('/.well-known/openid-configuration', { body: metadata })
  assert.equal((await attempt()).status, 200)
  // A path goes behind the well-known part (RFC 8414), or before it (OpenID Connect Discovery).
  const tenant = { audience: `${other.url}/tenant`, tokenEndpoint: other.tokenEndpoint }
  other.pages.set(`${METADATA}/tenant`, { body: { ...metadata, issuer: tenant.audience } })
  assert.equal((await requestGrant(world, tenant)).status, 200)
})

test('what is no URL of a public authorization server is refused', async () => {
  const world = await newGrantWorld(service)
  const { tokenEndpoint } = server
  const audiences = [
    ...['nothing', 'ftp://as.example', 'http://as.example', 'HTTPS://as.example'],
    ...['https://u:p@as.example', 'https://as.example/#x', 'https://as.example/?x'],
    ...['https://as.example/a/../b', 'https://10.0.0.1', 'https://[::1]', 'https://localhost'],
    ...['https://169.254.169.254/latest', 'https://as.example:8443', 'https://2130706433'],
  ]
  for (const audience of audiences) {
    const answer = await requestGrant(world, { audience, tokenEndpoint })
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  for (const endpoint of ['http://as.example/token', '/token', `${tokenEndpoint}#x`]) {
    const answer = await requestGrant(world, { audience: server.url, tokenEndpoint: endpoint })
    assertRefused(answer, 400, 'VALIDATION_ERROR', /tokenEndpoint/)
  }
  const resource = await requestGrant(world, { ...requestFor(server), resource: '/x' })
  assertRefused(resource, 400, 'VALIDATION_ERROR', /resource/)
  const more = await requestGrant(world, { ...requestFor(server), scope: 'x' })
  assertRefused(more, 400, 'VALIDATION_ERROR')
})
