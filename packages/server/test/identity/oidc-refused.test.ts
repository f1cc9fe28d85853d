import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JWTPayload } from 'jose'
import {
  beginIdentity,
  comeBack,
  signInNewcomer,
} from '../../../../test/support/verify-identity.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type Misbehaviour,
  newKeys,
  providerAt,
  signed,
  startOidcServer,
} from './oidc-server.ts'
import { startWithProviders } from './with-providers.ts'

interface Case {
  readonly name: string
  readonly wrong: Misbehaviour
  readonly message: RegExp
  readonly settings?: object
}

const NOT_BELIEVED = /cannot be believed, so nothing was recorded/
const FAILED = /does not answer as it should/

const now = () => Math.floor(Date.now() / 1000)
const claim = (changes: JWTPayload) => ({
  claims: (claims: JWTPayload) => ({ ...claims, ...changes }),
})
const without = (name: string) => ({
  claims: (claims: JWTPayload) => {
    const { [name]: _, ...rest } = claims
    return rest
  },
})
const algorithms = (...algs: string[]) => ({
  discovery: (metadata: Record<string, unknown>) => ({
    ...metadata,
    id_token_signing_alg_values_supported: algs,
  }),
})
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const CASES: readonly Case[] = [
  {
    name: 'an ID token without a signature: alg none',
    wrong: {
      ...algorithms('none', 'ES256'),
      sign: async (claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.`,
    },
    message: NOT_BELIEVED,
  },
  {
    name: 'alg none with an unrelated signature',
    wrong: {
      ...algorithms('none'),
      sign: async (claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.AAAA`,
    },
    message: NOT_BELIEVED,
  },
  {
    name: 'a signature by another key under the right kid',
    wrong: { sign: (claims) => signed(claims, newKeys().privateKey) },
    message: NOT_BELIEVED,
  },
  {
    name: 'a signature over other claims',
    wrong: {
      sign: async (claims, { privateKey }) => {
        const [header, , signature] = (await signed({ ...claims, sub: 'x' }, privateKey)).split('.')
        return `${header}.${base64url(claims)}.${signature}`
      },
    },
    message: NOT_BELIEVED,
  },
  {
    name: 'a key that the provider does not list',
    wrong: { sign: (claims) => signed(claims, newKeys().privateKey, { kid: 'key-2' }) },
    message: NOT_BELIEVED,
  },
  {
    name: "a key embedded in the token's header",
    wrong: {
      sign: (claims) => {
        const { privateKey, publicKey } = newKeys()
        return signed(claims, privateKey, { jwk: publicKey.export({ format: 'jwk' }) })
      },
    },
    message: NOT_BELIEVED,
  },
  {
    name: 'HS256 with the public key as the secret',
    wrong: {
      ...algorithms('HS256', 'ES256'),
      sign: (claims, { publicKey }) =>
        signed(claims, Buffer.from(publicKey.export({ type: 'spki', format: 'pem' })), {
          alg: 'HS256',
        }),
    },
    message: NOT_BELIEVED,
  },
  {
    name: 'HS256 with the client secret',
    wrong: {
      ...algorithms('HS256'),
      sign: (claims) => signed(claims, Buffer.from(CLIENT_SECRET.padEnd(32)), { alg: 'HS256' }),
    },
    message: NOT_BELIEVED,
  },
  {
    name: 'an ID token for another client',
    wrong: claim({ aud: 'another' }),
    message: NOT_BELIEVED,
  },
  {
    name: 'an ID token for several clients, issued to another',
    wrong: claim({ aud: [CLIENT_ID, 'another'], azp: 'another' }),
    message: NOT_BELIEVED,
  },
  { name: 'the nonce of another flow', wrong: claim({ nonce: 'another' }), message: NOT_BELIEVED },
  { name: 'no nonce', wrong: without('nonce'), message: NOT_BELIEVED },
  {
    name: 'an ID token of another issuer',
    wrong: claim({ iss: 'https://elsewhere.example' }),
    message: NOT_BELIEVED,
  },
  { name: 'no subject', wrong: without('sub'), message: NOT_BELIEVED },
  { name: 'an expired ID token', wrong: claim({ exp: now() - 3600 }), message: NOT_BELIEVED },
  { name: 'an ID token without exp', wrong: without('exp'), message: NOT_BELIEVED },
  {
    name: 'an ID token whose nbf is in the future',
    wrong: claim({ nbf: now() + 3600 }),
    message: NOT_BELIEVED,
  },
  {
    name: 'no auth_time although max_age was requested',
    wrong: without('auth_time'),
    message: NOT_BELIEVED,
  },
  {
    name: 'no auth_time although it is required',
    wrong: without('auth_time'),
    settings: { maxAge: undefined, requireAuthTime: true },
    message: NOT_BELIEVED,
  },
  {
    name: 'a sign-in that is too old',
    wrong: claim({ auth_time: now() - 600 }),
    message: NOT_BELIEVED,
  },
  {
    name: 'a lower acr than requested',
    wrong: claim({ acr: 'urn:test:low' }),
    message: /in a way that counts here/,
  },
  { name: 'no acr', wrong: without('acr'), message: /in a way that counts here/ },
  {
    name: 'no ID token at all',
    wrong: { token: ({ id_token: _, ...rest }) => ({ status: 200, body: rest }) },
    message: NOT_BELIEVED,
  },
  {
    name: 'a malformed ID token',
    wrong: { sign: async () => 'not.a-token' },
    message: NOT_BELIEVED,
  },
  {
    name: 'a token endpoint that fails',
    wrong: { token: () => ({ status: 500, body: { secret: 'of-the-provider' } }) },
    message: FAILED,
  },
  {
    name: 'a token endpoint that responds with HTML',
    wrong: {
      token: () => ({ status: 200, body: '<h1>', headers: { 'content-type': 'text/html' } }),
    },
    message: FAILED,
  },
  {
    name: 'a token endpoint that rejects the client',
    wrong: { token: () => ({ status: 400, body: { error: 'invalid_client' } }) },
    message: FAILED,
  },
  {
    name: 'a token endpoint that rejects the code',
    wrong: { token: () => ({ status: 400, body: { error: 'invalid_grant' } }) },
    message: /no longer good/,
  },
  { name: 'no keys', wrong: { keys: () => ({ status: 503, body: {} }) }, message: FAILED },
  {
    name: 'an empty list of keys',
    wrong: { keys: () => ({ status: 200, body: { keys: [] } }) },
    message: NOT_BELIEVED,
  },
  {
    name: 'the state of another flow',
    wrong: { back: (query) => query.set('state', 'another') },
    message: NOT_BELIEVED,
  },
  { name: 'no state', wrong: { back: (query) => query.delete('state') }, message: NOT_BELIEVED },
  {
    name: 'the response of another provider (mix-up attack)',
    wrong: { back: (query) => query.set('iss', 'https://elsewhere.example') },
    message: NOT_BELIEVED,
  },
  {
    name: 'a response without iss from a provider that announces it',
    wrong: { back: (query) => query.delete('iss') },
    message: NOT_BELIEVED,
  },
  {
    name: 'two codes',
    wrong: { back: (query) => query.append('code', 'another') },
    message: NOT_BELIEVED,
  },
  { name: 'no code', wrong: { back: (query) => query.delete('code') }, message: NOT_BELIEVED },
  {
    name: 'tokens in the callback URL',
    wrong: { back: (query) => query.set('id_token', 'e30.e30.') },
    message: NOT_BELIEVED,
  },
  {
    name: 'access_denied',
    wrong: {
      back: (query) => {
        query.delete('code')
        query.set('error', 'access_denied')
      },
    },
    message: /has not verified you/,
  },
  {
    name: 'server_error',
    wrong: {
      back: (query) => {
        query.delete('code')
        query.set('error', 'server_error')
        query.set('error_description', '<b>look here</b>')
      },
    },
    message: FAILED,
  },
]

test('invalid responses of a provider are rejected, and nothing is recorded', async (t) => {
  const servers = await Promise.all(CASES.map(({ wrong }) => startOidcServer(t, wrong)))
  const service = await startWithProviders(
    t,
    servers.map(({ url }, i) => ({ ...providerAt(url, `case-${i}`), ...CASES[i]?.settings })),
  )
  const owner = await signInNewcomer(service)
  for (const [i, { name, message }] of CASES.entries()) {
    await t.test(name, async () => {
      const { browser, redirect } = await beginIdentity(owner, `case-${i}`)
      const back = servers[i]?.authorize(redirect) as URL
      const outcome = await comeBack(browser, new URL(back.pathname + back.search, service.url))
      assert.deepEqual([outcome.verified, outcome.failed], [null, `case-${i}`])
      assert.match(outcome.message as string, message)
      assert.doesNotMatch(outcome.message as string, /look here|of-the-provider/)
      const { read } = service.operator.db
      assert.deepEqual(await read.selectFrom('identity_verifications').selectAll().execute(), [])
      assert.deepEqual(await read.selectFrom('events').selectAll().execute(), [])
    })
  }
})
