import { createHash, createPrivateKey, sign } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { p256 } from '@noble/curves/nist.js'

const ISSUER = 'https://id.example'
const OTHER = 'https://other.example'
const NOW = 1_800_000_000
const DID = 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'
const LIST_BYTES = 32_768

const base64Url = (data: string | Uint8Array) => Buffer.from(data).toString('base64url')

export interface Key {
  readonly jwk: Readonly<Record<string, string>>
  readonly alg: 'EdDSA' | 'ES256'
  readonly sign: (message: Uint8Array) => Uint8Array
}

function withKid(jwk: Record<string, string>): Record<string, string> {
  const kid = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
  return { ...jwk, kid, use: 'sig' }
}

export function ed25519Key(seedHex: string): Key {
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex')
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = key.export({ format: 'jwk' })
  const jwk = withKid({ crv: 'Ed25519', kty: 'OKP', x })
  return { jwk, alg: 'EdDSA', sign: (message) => sign(null, message, key) }
}

/** With deterministic signatures (RFC 6979), so that the file does not change. */
export function p256Key(secretHex: string): Key {
  const secret = Buffer.from(secretHex, 'hex')
  const point = p256.getPublicKey(secret, false)
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(base64Url) as [string, string]
  const jwk = withKid({ crv: 'P-256', kty: 'EC', x, y })
  return { jwk, alg: 'ES256', sign: (message) => p256.sign(message, secret) }
}

const ED25519 = ed25519Key('01'.repeat(32))
const P256 = p256Key('02'.repeat(32))
const STRANGER = ed25519Key('03'.repeat(32))
const AGENT = ed25519Key('04'.repeat(32))

/** @param claims JSON, or what becomes JSON */
export function token(
  typ: string,
  claims: object | string,
  key = ED25519,
  header: object = {},
): string {
  const head = { alg: key.alg, kid: key.jwk.kid, typ, ...header }
  const json = typeof claims === 'string' ? claims : JSON.stringify(claims)
  const input = `${base64Url(JSON.stringify(head))}.${base64Url(json)}`
  return `${input}.${base64Url(key.sign(Buffer.from(input)))}`
}

const CERTIFICATE = {
  iss: ISSUER,
  sub: DID,
  iat: NOW - 600,
  exp: NOW + 85_800,
  jti: 'AAECAwQFBgcICQoLDA0ODw',
  vct: `${ISSUER}/credentials/agent-certificate`,
  cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: AGENT.jwk.x } },
  status: { status_list: { uri: `${ISSUER}/status/1`, idx: 3 } },
  identityMethod: 'in-person',
  identityLevel: 'verified',
  assurance: 'high',
  grade: 'B',
  policyVersion: 1,
  keySequence: 2,
  keyChangedAt: '2027-01-01T00:00:00.000Z',
  did_web: `did:web:id.example:agent:${DID}`,
}
const entry = (idx: number, uri = `${ISSUER}/status/1`) => ({
  status: { status_list: { uri, idx } },
})
const certificate = (claims: object = {}, key = ED25519, header: object = {}) =>
  token('dc+sd-jwt', { ...CERTIFICATE, ...claims }, key, header)

const STAPLE = {
  iss: ISSUER,
  sub: DID,
  cnf: { jkt: AGENT.jwk.kid },
  agentStatus: 'active',
  grade: 'B',
  iat: NOW - 60,
  exp: NOW + 840,
}
const staple = (claims: object = {}, key = ED25519) =>
  token('svc-status+jwt', { ...STAPLE, ...claims }, key)

/** Entries 0 to 7 are valid, invalid, suspended, valid, not assigned, valid, invalid, suspended; the last one is invalid. */
function listBytes(): Uint8Array {
  const bytes = new Uint8Array(LIST_BYTES)
  bytes.set([0b00100100, 0b10010011])
  bytes[LIST_BYTES - 1] = 0b01000000
  return bytes
}
export const compressed = (bytes: Uint8Array) => base64Url(deflateSync(bytes, { level: 9 }))
const LIST = {
  sub: `${ISSUER}/status/1`,
  iat: NOW - 5,
  exp: NOW + 595,
  ttl: 30,
  status_list: { bits: 2, lst: compressed(listBytes()) },
}
const list = (claims: object = {}, key = ED25519) =>
  token('statuslist+jwt', { ...LIST, ...claims }, key)

const altered = certificate().replace(
  /\.[^.]+\./,
  `.${base64Url(JSON.stringify({ ...CERTIFICATE, grade: 'A' }))}.`,
)

/** JSON of claims with a member more. */
const withMore = (claims: object, name: string, json: string) =>
  JSON.stringify(claims).replace(/\}$/, `,"${name}":${json}}`)
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const ofJson = (json: string) => token('dc+sd-jwt', json)

/** What parsers of JSON read differently, and times that are none. */
const ODD = [
  { name: 'NaN in a claim', why: 'json', token: ofJson(withMore(CERTIFICATE, 'a', 'NaN')) },
  {
    name: 'a byte order mark',
    why: 'json',
    token: ofJson(`\ufeff${JSON.stringify(CERTIFICATE)}`),
  },
  { name: '33 levels', why: 'json', token: ofJson(withMore(CERTIFICATE, 'a', nested(32))) },
  { name: '2,001 levels', why: 'json', token: ofJson(withMore(CERTIFICATE, 'a', nested(2_000))) },
  { name: 'expires at 1e400', why: 'times', token: ofJson(withMore(CERTIFICATE, 'exp', '1e400')) },
  ...['2026-02-30T00:00:00.000Z', '2026-01-01T24:00:00.000Z', '0000-01-01T00:00:00.000Z'].map(
    (keyChangedAt) => ({
      name: `the key of ${keyChangedAt}`,
      why: 'claims',
      token: certificate({ keyChangedAt }),
    }),
  ),
  {
    name: 'transferred on a day that does not exist',
    why: 'claims',
    token: certificate({ ownerChangedAt: '2026-02-30T00:00:00.000Z' }),
  },
  {
    name: 'transferred at null',
    why: 'claims',
    token: certificate({ ownerChangedAt: null }),
  },
]

/** The content of vectors/certificates.json. */
export const vectors = {
  issuer: ISSUER,
  now: NOW * 1000,
  keySet: { keys: [ED25519.jwk, P256.jwk] },
  statusList: list(),
  certificates: {
    valid: [
      { name: 'EdDSA', token: certificate(), did: DID, keyThumbprint: AGENT.jwk.kid },
      { name: 'ES256', token: certificate({}, P256), did: DID, keyThumbprint: AGENT.jwk.kid },
      {
        name: 'as an SD-JWT without disclosures',
        token: `${certificate()}~`,
        did: DID,
        keyThumbprint: AGENT.jwk.kid,
      },
      {
        name: 'a claim and a header member that a later release adds',
        token: certificate({ later: true }, ED25519, { later: true }),
        did: DID,
        keyThumbprint: AGENT.jwk.kid,
      },
      {
        name: 'a claim of 31 levels, and a number of 5,000 digits',
        token: ofJson(withMore(CERTIFICATE, 'a', `${nested(31)},"n":${'9'.repeat(5_000)}`)),
        did: DID,
        keyThumbprint: AGENT.jwk.kid,
      },
      {
        name: 'of an agent that was transferred to its owner',
        token: certificate({ ownerChangedAt: '2027-01-10T08:00:00.000Z' }),
        did: DID,
        keyThumbprint: AGENT.jwk.kid,
        ownerChangedAt: '2027-01-10T08:00:00.000Z',
      },
      {
        name: 'with the entry of its key in the transparency log',
        token: certificate({ log: { origin: 'id.example/log/1', index: 7 } }),
        did: DID,
        keyThumbprint: AGENT.jwk.kid,
      },
    ],
    invalid: [
      ...ODD,
      { name: 'replaced or revoked', why: 'status', token: certificate(entry(1)) },
      { name: 'suspended', why: 'status', token: certificate(entry(2)) },
      { name: 'a status that is not assigned', why: 'status', token: certificate(entry(4)) },
      { name: 'the last entry', why: 'status', token: certificate(entry(131_071)) },
      { name: 'beyond the list', why: 'status', token: certificate(entry(131_072)) },
      { name: 'expired', why: 'times', token: certificate({ exp: NOW - 61 }) },
      { name: 'of the future', why: 'times', token: certificate({ iat: NOW + 61 }) },
      { name: 'without an end', why: 'times', token: certificate({ exp: undefined }) },
      { name: 'altered', why: 'signature', token: altered },
      { name: 'by a key that is not listed', why: 'key', token: certificate({}, STRANGER) },
      {
        name: 'by another key under the kid of a listed one',
        why: 'signature',
        token: certificate({}, STRANGER, { kid: ED25519.jwk.kid }),
      },
      { name: 'of another issuer', why: 'issuer', token: certificate({ iss: OTHER }) },
      {
        name: 'of another type of credential',
        why: 'vct',
        token: certificate({ vct: `${ISSUER}/credentials/other` }),
      },
      {
        name: 'with a status list of another issuer',
        why: 'status list',
        token: certificate(entry(3, `${OTHER}/status/1`)),
      },
      { name: 'a staple', why: 'type', token: staple() },
      { name: 'an ordinary JWT', why: 'type', token: token('JWT', CERTIFICATE) },
      { name: 'an approval', why: 'type', token: token('svc-approval+jwt', CERTIFICATE) },
      ...['jwk', 'jku', 'x5c', 'crit'].map((name) => ({
        name: `with ${name} in its header`,
        why: 'header',
        token: certificate({}, ED25519, { [name]: name === 'jku' ? `${OTHER}/jwks.json` : [] }),
      })),
      { name: 'unsigned', why: 'algorithm', token: certificate({}, ED25519, { alg: 'none' }) },
      {
        name: 'with the algorithm of another key',
        why: 'algorithm',
        token: certificate({}, ED25519, { alg: 'ES256' }),
      },
    ],
  },
  staples: {
    valid: [
      { name: 'active', token: staple(), did: DID, status: 'active' },
      {
        name: 'suspended',
        token: staple({ agentStatus: 'suspended' }),
        did: DID,
        status: 'suspended',
      },
      { name: 'ES256', token: staple({}, P256), did: DID, status: 'active' },
    ],
    invalid: [
      { name: 'expired', why: 'times', token: staple({ exp: NOW - 61 }) },
      { name: 'of another issuer', why: 'issuer', token: staple({ iss: OTHER }) },
      { name: 'by a stranger', why: 'key', token: staple({}, STRANGER) },
      { name: 'a certificate', why: 'type', token: certificate() },
    ],
  },
  statusLists: {
    uri: `${ISSUER}/status/1`,
    valid: [
      {
        name: 'the first and the last entries',
        token: list(),
        entries: { 0: 0, 1: 1, 2: 2, 3: 0, 4: 3, 5: 0, 6: 1, 7: 2, 8: 0, 131071: 1 },
      },
    ],
    invalid: [
      { name: 'a feed that is no position', why: 'feed', token: list({ feed: 'epoch' }) },
      {
        name: 'issued at -1e400',
        why: 'times',
        token: token('statuslist+jwt', withMore(LIST, 'iat', '-1e400')),
      },
      { name: 'for another address', why: 'address', token: list({ sub: `${ISSUER}/status/2` }) },
      { name: 'by a stranger', why: 'key', token: list({}, STRANGER) },
      { name: 'expired', why: 'times', token: list({ exp: NOW - 61 }) },
      {
        name: 'with 1 bit an entry',
        why: 'bits',
        token: list({ status_list: { ...LIST.status_list, bits: 1 } }),
      },
      {
        name: 'too short',
        why: 'length',
        token: list({ status_list: { bits: 2, lst: compressed(new Uint8Array(100)) } }),
      },
      {
        name: 'too long',
        why: 'length',
        token: list({ status_list: { bits: 2, lst: compressed(new Uint8Array(1_000_000)) } }),
      },
      {
        name: 'not compressed',
        why: 'compression',
        token: list({ status_list: { bits: 2, lst: base64Url(new Uint8Array(64)) } }),
      },
      { name: 'a certificate', why: 'type', token: certificate() },
    ],
  },
}
