import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Identity } from '@countersign/protocol'
import { decodeJwt, jwtVerify } from 'jose'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { type TestService, tempDir } from '../../../../../test/support/service.ts'
import {
  beginIdentity,
  comeBack,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { ACR, CLIENT_ID, providerAt, startOidcServer } from './oidc-server.ts'
import { startWithProviders } from './with-providers.ts'

type Server = Awaited<ReturnType<typeof startOidcServer>>

async function verify(service: TestService, server: Server) {
  const owner = await signInNewcomer(service)
  const { browser, redirect } = await beginIdentity(owner, 'test')
  const back = server.authorize(redirect)
  const outcome = await comeBack(browser, new URL(back.pathname + back.search, service.url))
  const { verifications } = jsonOf<Identity>(await owner.get('/api/identity'))
  return { outcome, verification: verifications[0], redirect }
}

test('a valid response of a provider verifies the owner', async (t) => {
  const server = await startOidcServer(t)
  const service = await startWithProviders(t, [providerAt(server.url)])
  const { outcome, verification, redirect } = await verify(service, server)
  assert.deepEqual(outcome, { verified: 'test', failed: null, code: null, request: null })
  assert.equal(verification?.assurance, 'substantial')
  assert.equal(verification?.label, 'The provider')
  assert.match(redirect, /request_uri=/)
  const request = [...server.begun.values()][0] as URLSearchParams
  const asked = Object.fromEntries(
    ['scope', 'acr_values', 'max_age', 'code_challenge_method', 'redirect_uri'].map((name) => [
      name,
      request.get(name),
    ]),
  )
  assert.deepEqual(asked, {
    scope: 'openid',
    acr_values: ACR,
    max_age: '300',
    code_challenge_method: 'S256',
    redirect_uri: `${service.settings.baseUrl.origin}/identity/callback/test`,
  })
})

test('the acr can determine the assurance', async (t) => {
  const server = await startOidcServer(t)
  const provider = { ...providerAt(server.url), acr: { [ACR]: 'high', other: 'low' } }
  const service = await startWithProviders(t, [provider])
  const { verification } = await verify(service, server)
  assert.equal(verification?.assurance, 'high')
})

test('acrClaim replaces the acr claim', async (t) => {
  const claims = (right: object) => ({ ...right, acr: 'other', authenticationtype: 'urn:eid' })
  const server = await startOidcServer(t, { claims })
  const acr = { acr: ['urn:eid'], acrClaim: 'authenticationtype' }
  const service = await startWithProviders(t, [{ ...providerAt(server.url), ...acr }])
  assert.equal((await verify(service, server)).outcome.verified, 'test')
})

test('requests are not pushed if par is false', async (t) => {
  const server = await startOidcServer(t)
  const service = await startWithProviders(t, [{ ...providerAt(server.url), par: false }])
  const { outcome, redirect } = await verify(service, server)
  assert.equal(outcome.verified, 'test')
  assert.match(redirect, /code_challenge=/)
})

test('the service starts while a provider is down, and reports it when the provider is needed', async (t) => {
  let down = true
  const server = await startOidcServer(t, {
    discovery: (metadata) =>
      down ? { ...metadata, issuer: 'https://elsewhere.example' } : metadata,
  })
  const service = await startWithProviders(t, [providerAt(server.url)])
  const owner = await signInNewcomer(service)
  const answer = await owner.post('/api/identity/test/begin')
  assert.equal(answer.status, 503)
  assert.match(answer.text, /The provider does not answer as it should/)
  down = false
  assert.equal((await verify(service, server)).outcome.verified, 'test')
})

test("the provider's metadata is fetched once", async (t) => {
  const server = await startOidcServer(t)
  const service = await startWithProviders(t, [providerAt(server.url)])
  await verify(service, server)
  const asked = server.received.filter(({ path }) => path.includes('.well-known'))
  assert.equal(asked.length, 1)
})

for (const [name, metadata] of Object.entries({
  'a page that is not https': { authorization_endpoint: 'http://elsewhere.example/' },
  'a script': { authorization_endpoint: 'javascript:alert(1)//' },
})) {
  test(`the browser is not redirected to ${name}`, async (t) => {
    const server = await startOidcServer(t, { discovery: (right) => ({ ...right, ...metadata }) })
    const service = await startWithProviders(t, [{ ...providerAt(server.url), par: false }])
    const answer = await (await signInNewcomer(service)).post('/api/identity/test/begin')
    assert.equal(answer.status, 503, answer.text)
  })
}

test('a rejected pushed request is a failure of the provider', async (t) => {
  const server = await startOidcServer(t, {
    par: () => ({ status: 400, body: { error: 'invalid_request', error_description: 'secret' } }),
  })
  const service = await startWithProviders(t, [providerAt(server.url)])
  const answer = await (await signInNewcomer(service)).post('/api/identity/test/begin')
  assert.equal(answer.status, 503)
  assert.doesNotMatch(answer.text, /secret|invalid_request/)
})

for (const form of ['pem', 'jwk'] as const) {
  test(`private_key_jwt works with a private key in ${form}`, async (t) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const file = join(tempDir(t), 'key')
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'our-key' }
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    writeFileSync(file, form === 'pem' ? pem : JSON.stringify(jwk))
    const { clientSecret: _, ...provider } = providerAt('')
    const server = await startOidcServer(t, { anyClient: true })
    const service = await startWithProviders(t, [
      {
        ...provider,
        issuer: server.url,
        clientAuth: 'private_key_jwt',
        assertionAudience: 'token-endpoint',
        privateKey: { file },
        ...(form === 'pem' && { privateKeyId: 'our-key' }),
      },
    ])
    assert.equal((await verify(service, server)).outcome.verified, 'test')
    const { body } = server.received.find(({ path }) => path === '/token') as { body: string }
    const assertion = new URLSearchParams(body).get('client_assertion') as string
    const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
      issuer: CLIENT_ID,
      subject: CLIENT_ID,
      audience: `${server.url}/token`,
    })
    assert.equal(protectedHeader.kid, 'our-key')
    assert.notEqual(decodeJwt(assertion).jti, undefined)
    assert.ok((payload.exp as number) - (payload.iat as number) <= 300)
  })
}

test('an OpenID Connect provider ignores a result in the request body', async (t) => {
  const server = await startOidcServer(t)
  const service = await startWithProviders(t, [providerAt(server.url)])
  const owner = await signInNewcomer(service)
  const answer = await owner.post('/api/identity/test/complete', { result: { sub: 'me' } })
  assertRefused(answer, 400, 'VALIDATION_ERROR', /took too long/)
})
