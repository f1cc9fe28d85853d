import type { CallbackFailure } from '@countersign/protocol'
import type { JWTPayload } from 'jose'
import { CLIENT_ID, CLIENT_SECRET, type Misbehaviour, newKeys, signed } from './oidc-server.ts'

/** A response of an OpenID Connect provider that must be refused. */
export interface OidcCase {
  readonly name: string
  readonly wrong: Misbehaviour
  /** By default `invalid-response`. */
  readonly code?: CallbackFailure
  readonly settings?: object
  /** It is refused by a setting that verifications have, for acr or auth_time. */
  readonly bySettings?: true
}

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

export const OIDC_CASES: readonly OidcCase[] = [
  {
    name: 'an ID token without a signature: alg none',
    wrong: {
      ...algorithms('none', 'ES256'),
      sign: async (claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.`,
    },
  },
  {
    name: 'alg none with an unrelated signature',
    wrong: {
      ...algorithms('none'),
      sign: async (claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.AAAA`,
    },
  },
  {
    name: 'a signature by another key under the right kid',
    wrong: { sign: (claims) => signed(claims, newKeys().privateKey) },
  },
  {
    name: 'a signature over other claims',
    wrong: {
      sign: async (claims, { privateKey }) => {
        const [header, , signature] = (await signed({ ...claims, sub: 'x' }, privateKey)).split('.')
        return `${header}.${base64url(claims)}.${signature}`
      },
    },
  },
  {
    name: 'a key that the provider does not list',
    wrong: { sign: (claims) => signed(claims, newKeys().privateKey, { kid: 'key-2' }) },
  },
  {
    name: "a key embedded in the token's header",
    wrong: {
      sign: (claims) => {
        const { privateKey, publicKey } = newKeys()
        return signed(claims, privateKey, { jwk: publicKey.export({ format: 'jwk' }) })
      },
    },
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
  },
  {
    name: 'HS256 with the client secret',
    wrong: {
      ...algorithms('HS256'),
      sign: (claims) => signed(claims, Buffer.from(CLIENT_SECRET.padEnd(32)), { alg: 'HS256' }),
    },
  },
  { name: 'an ID token for another client', wrong: claim({ aud: 'another' }) },
  {
    name: 'an ID token for several clients, issued to another',
    wrong: claim({ aud: [CLIENT_ID, 'another'], azp: 'another' }),
  },
  { name: 'the nonce of another flow', wrong: claim({ nonce: 'another' }) },
  { name: 'no nonce', wrong: without('nonce') },
  { name: 'an ID token of another issuer', wrong: claim({ iss: 'https://elsewhere.example' }) },
  { name: 'no subject', wrong: without('sub') },
  { name: 'an expired ID token', wrong: claim({ exp: now() - 3600 }) },
  { name: 'an ID token without exp', wrong: without('exp') },
  { name: 'an ID token whose nbf is in the future', wrong: claim({ nbf: now() + 3600 }) },
  {
    name: 'no auth_time although max_age was requested',
    bySettings: true,
    wrong: without('auth_time'),
  },
  {
    name: 'no auth_time although it is required',
    bySettings: true,
    wrong: without('auth_time'),
    settings: { maxAge: undefined, requireAuthTime: true },
  },
  { name: 'a sign-in that is too old', bySettings: true, wrong: claim({ auth_time: now() - 600 }) },
  {
    name: 'a lower acr than requested',
    bySettings: true,
    wrong: claim({ acr: 'urn:test:low' }),
    code: 'too-weak',
  },
  { name: 'no acr', bySettings: true, wrong: without('acr'), code: 'too-weak' },
  {
    name: 'no ID token at all',
    wrong: { token: ({ id_token: _, ...rest }) => ({ status: 200, body: rest }) },
  },
  { name: 'a malformed ID token', wrong: { sign: async () => 'not.a-token' } },
  {
    name: 'a token endpoint that fails',
    wrong: { token: () => ({ status: 500, body: { secret: 'of-the-provider' } }) },
    code: 'unavailable',
  },
  {
    name: 'a token endpoint that responds with HTML',
    wrong: {
      token: () => ({ status: 200, body: '<h1>', headers: { 'content-type': 'text/html' } }),
    },
    code: 'unavailable',
  },
  {
    name: 'a token endpoint that rejects the client',
    wrong: { token: () => ({ status: 400, body: { error: 'invalid_client' } }) },
    code: 'unavailable',
  },
  {
    name: 'a token endpoint that rejects the code',
    wrong: { token: () => ({ status: 400, body: { error: 'invalid_grant' } }) },
    code: 'used',
  },
  { name: 'no keys', wrong: { keys: () => ({ status: 503, body: {} }) }, code: 'unavailable' },
  { name: 'an empty list of keys', wrong: { keys: () => ({ status: 200, body: { keys: [] } }) } },
  { name: 'the state of another flow', wrong: { back: (query) => query.set('state', 'another') } },
  { name: 'no state', wrong: { back: (query) => query.delete('state') } },
  {
    name: 'the response of another provider (mix-up attack)',
    wrong: { back: (query) => query.set('iss', 'https://elsewhere.example') },
  },
  {
    name: 'a response without iss from a provider that announces it',
    wrong: { back: (query) => query.delete('iss') },
  },
  { name: 'two codes', wrong: { back: (query) => query.append('code', 'another') } },
  { name: 'no code', wrong: { back: (query) => query.delete('code') } },
  {
    name: 'tokens in the callback URL',
    wrong: { back: (query) => query.set('id_token', 'e30.e30.') },
  },
  {
    name: 'access_denied',
    wrong: {
      back: (query) => {
        query.delete('code')
        query.set('error', 'access_denied')
      },
    },
    code: 'declined',
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
    code: 'unavailable',
  },
]
