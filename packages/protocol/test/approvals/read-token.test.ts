import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import {
  type ApprovalClaims,
  InvalidTokenError,
  type IssuerJwk,
  namingFor,
  readApprovalToken,
  TOKEN_TYPES,
  verifyApprovalToken,
} from '../../src/index.ts'

const NOW = 1_795_463_000
const ISSUER = 'https://id.example'
const CLAIMS: ApprovalClaims = {
  iss: ISSUER,
  sub: 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj',
  aud: 'https://shop.example',
  jti: `ap_${'A'.repeat(22)}`,
  iat: NOW,
  exp: NOW + 600,
  method: 'POST',
  url: 'https://shop.example/orders/4711/confirm',
  content: { type: 'application/json', sha256: 'A'.repeat(43) },
  by: 'passkey',
  evidence: 'A'.repeat(43),
}
const HEADER = { alg: 'EdDSA', kid: 'k1', typ: TOKEN_TYPES.approval }
const naming = namingFor()
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const other = generateKeyPairSync('ed25519').privateKey
const KEYS = [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' } as unknown as IssuerJwk]

function encode(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

function token(claims: unknown, header: unknown = HEADER, key: KeyObject = privateKey): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}

async function accept(text: string, expected: object = {}): Promise<ApprovalClaims> {
  const read = readApprovalToken(text, naming)
  const trusted = { issuer: ISSUER, keys: KEYS, now: NOW, ...expected }
  await verifyApprovalToken(read, trusted, (jwk, message, signature) =>
    verify(null, message, { key: jwk as never, format: 'jwk' }, signature),
  )
  return read.claims
}

test('a token of exactly these members is read and verified', async () => {
  assert.deepEqual(await accept(token(CLAIMS)), CLAIMS)
  const without = { ...CLAIMS, content: null, by: 'mandate', method: 'DELETE' }
  assert.deepEqual(await accept(token(without)), without)
  // Expired: the caller decides how long ago is too long.
  assert.deepEqual(await accept(token(CLAIMS), { now: NOW + 100_000 }), CLAIMS)
  assert.deepEqual(await accept(token(CLAIMS), { now: NOW - 60 }), CLAIMS)
})

test('every other token is refused', async () => {
  const { evidence: _, ...lacking } = CLAIMS
  const valid = token(CLAIMS)
  const refused: [why: string, text: string][] = [
    ['a disclosure mark', `${valid}~`],
    ['two parts', valid.split('.').slice(0, 2).join('.')],
    ['a fourth part', `${valid}.`],
    ['padding', `${valid}=`],
    ['too long', token({ ...CLAIMS, url: `https://shop.example/${'a'.repeat(1900)}` })],
    ...Object.values(TOKEN_TYPES)
      .filter((each) => each !== TOKEN_TYPES.approval)
      .map((typ): [string, string] => [typ, token(CLAIMS, { ...HEADER, typ })]),
    ['JWT', token(CLAIMS, { ...HEADER, typ: 'JWT' })],
    ['a further header member', token(CLAIMS, { ...HEADER, cty: 'x' })],
    ['crit', token(CLAIMS, { ...HEADER, crit: ['b64'] })],
    ['its own key', token(CLAIMS, { ...HEADER, jwk: KEYS[0] })],
    ['no kid', token(CLAIMS, { alg: 'EdDSA', typ: TOKEN_TYPES.approval })],
    ['none', token(CLAIMS, { ...HEADER, alg: 'none' })],
    ['HS256', token(CLAIMS, { ...HEADER, alg: 'HS256' })],
    ['another algorithm than that of the key', token(CLAIMS, { ...HEADER, alg: 'ES256' })],
    ['an unknown key', token(CLAIMS, { ...HEADER, kid: 'k2' })],
    ['the signature of another key', token(CLAIMS, HEADER, other)],
    ['a claim missing', token(lacking)],
    ['a further claim', token({ ...CLAIMS, nbf: NOW })],
    ['a repeated claim', token(JSON.stringify(CLAIMS).replace('{', `{"iat":${NOW},`))],
    ['no object', token([CLAIMS])],
    ['another issuer', token({ ...CLAIMS, iss: 'https://other.example' })],
    ['a name instead of a DID', token({ ...CLAIMS, sub: 'agent' })],
    ['another deployment', token({ ...CLAIMS, sub: CLAIMS.sub.replace('svc', 'acme') })],
    ['another audience than the origin', token({ ...CLAIMS, aud: 'https://shop.example:8443' })],
    ['several audiences', token({ ...CLAIMS, aud: [CLAIMS.aud] })],
    ['a relative url', token({ ...CLAIMS, url: '/orders' })],
    ['another id', token({ ...CLAIMS, jti: 'ap_1' })],
    ['a time as text', token({ ...CLAIMS, iat: String(NOW) })],
    ['a fraction of a second', token({ ...CLAIMS, iat: NOW + 0.5 })],
    [
      'an infinite time',
      token(JSON.stringify(CLAIMS).replace(`"exp":${NOW + 600}`, '"exp":1e400')),
    ],
    ['no lifetime', token({ ...CLAIMS, exp: NOW })],
    ['more than an hour', token({ ...CLAIMS, exp: NOW + 3601 })],
    ['issued in the future', token({ ...CLAIMS, iat: NOW + 61, exp: NOW + 600 })],
    ['a method in small letters', token({ ...CLAIMS, method: 'post' })],
    ['content as text', token({ ...CLAIMS, content: 'x' })],
    ['content with more', token({ ...CLAIMS, content: { ...CLAIMS.content, size: 1 } })],
    ['a digest of another length', token({ ...CLAIMS, content: { type: 'a', sha256: 'A' } })],
    ['approved by somebody else', token({ ...CLAIMS, by: 'operator' })],
    ['no evidence', token({ ...CLAIMS, evidence: null })],
  ]
  for (const [why, text] of refused) await assert.rejects(accept(text), InvalidTokenError, why)
})
