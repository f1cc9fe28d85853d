import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import {
  type CertificateClaims,
  type IssuerJwk,
  type JwsAlgorithm,
  keyThumbprint,
  namingOfDid,
  STATUS_LIST_BYTES,
  type StatusValue,
  setStatusAt,
  signJws,
  TOKEN_TYPES,
} from '@countersign/protocol'

/** An agent as an issuer certifies it. */
export interface CertifiedKey {
  readonly did: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly jwk: IssuerJwk
  readonly privateKey: KeyObject
}

/** Signs tokens as a service does, and whatever else a test needs. */
export interface TestIssuer {
  readonly origin: string
  /** The keys that it publishes; a test may change them. */
  readonly keys: IssuerKey[]
  keySet(): { keys: IssuerJwk[] }
  /** @param by default: the first key of the algorithm */
  sign(typ: string, payload: object, alg?: JwsAlgorithm, by?: IssuerKey): Promise<string>
  /** Lists in their current state, by number; a test changes them with `setStatusAt`. */
  list(n: number): Uint8Array
  certificate(
    agent: CertifiedKey,
    entry?: { list?: number; idx?: number },
    claims?: Readonly<Record<string, unknown>>,
    alg?: JwsAlgorithm,
  ): Promise<string>
  staple(agent: CertifiedKey, claims?: Readonly<Record<string, unknown>>): Promise<string>
  statusList(n: number, claims?: Readonly<Record<string, unknown>>): Promise<string>
  setStatus(list: number, idx: number, status: StatusValue): void
}

export const DAY_SECONDS = 86_400

/** @param now its clock, in milliseconds since 1970 */
export function testIssuer(origin: string, now: () => number = Date.now): TestIssuer {
  const keys = [newIssuerKey('EdDSA'), newIssuerKey('ES256')]
  const lists = new Map<number, Uint8Array>()
  const seconds = () => Math.floor(now() / 1000)
  const issuer: TestIssuer = {
    origin,
    keys,
    keySet: () => ({ keys: keys.map(({ jwk }) => jwk) }),
    sign(typ, payload, alg = 'EdDSA', by = keyFor(keys, alg)) {
      const header = { alg, kid: by.jwk.kid, typ } as const
      return signJws(header, payload, (message) => signBytes(by, message))
    },
    list(n) {
      const list = lists.get(n) ?? new Uint8Array(STATUS_LIST_BYTES)
      lists.set(n, list)
      return list
    },
    setStatus: (n, idx, status) => setStatusAt(issuer.list(n), idx, status),
    certificate(agent, { list = 1, idx = 7 } = {}, claims = {}, alg = 'EdDSA') {
      const own = { ...claimsOf(origin, agent, seconds()), status: statusClaim(origin, list, idx) }
      return issuer.sign(TOKEN_TYPES.certificate, { ...own, ...claims }, alg)
    },
    staple({ did, publicKey }, claims = {}) {
      const iat = seconds()
      return issuer.sign(TOKEN_TYPES.staple, {
        iss: origin,
        sub: did,
        cnf: { jkt: keyThumbprint(publicKey) },
        agentStatus: 'active',
        grade: 'B',
        iat,
        exp: iat + 900,
        ...claims,
      })
    },
    statusList(n, claims = {}) {
      const iat = seconds()
      const lst = deflateSync(issuer.list(n)).toString('base64url')
      return issuer.sign(TOKEN_TYPES.statusList, {
        sub: `${origin}/status/${n}`,
        iat,
        exp: iat + 600,
        ttl: 30,
        status_list: { bits: 2, lst },
        ...claims,
      })
    },
  }
  return issuer
}

export function newIssuerKey(alg: JwsAlgorithm): IssuerKey {
  const { publicKey, privateKey } =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' })
  const members = kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  const kid = createHash('sha256').update(JSON.stringify(members)).digest('base64url')
  return { jwk: { ...members, kid, use: 'sig' } as IssuerJwk, privateKey }
}

export function signBytes({ privateKey }: IssuerKey, message: Uint8Array): Uint8Array {
  const isEd25519 = privateKey.asymmetricKeyType === 'ed25519'
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return new Uint8Array(sign(isEd25519 ? null : 'sha256', message, isEd25519 ? privateKey : key))
}

function keyFor(keys: readonly IssuerKey[], alg: JwsAlgorithm): IssuerKey {
  const key = keys.find(({ jwk }) => (jwk.kty === 'OKP') === (alg === 'EdDSA'))
  if (key === undefined) throw new Error(`the issuer has no key for ${alg}`)
  return key
}

function claimsOf(origin: string, { did, publicKey }: CertifiedKey, iat: number) {
  const tail = did.split(':').at(-1)
  const x = Buffer.from(publicKey).toString('base64url')
  return {
    iss: origin,
    sub: did,
    iat,
    exp: iat + DAY_SECONDS,
    jti: randomUUID(),
    vct: `${origin}/credentials/agent-certificate`,
    cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x } },
    identityMethod: 'in-person',
    identityLevel: 'verified',
    assurance: 'high',
    grade: 'B',
    policyVersion: 1,
    keySequence: 1,
    keyChangedAt: '2026-01-02T03:04:05.678Z',
    did_web: `did:web:${new URL(origin).host.replace(':', '%3A')}:agent:${namingOfDid(did)?.shortName}:agent:${tail}`,
  } satisfies Omit<CertificateClaims, 'status'>
}

function statusClaim(origin: string, list: number, idx: number) {
  return { status_list: { uri: `${origin}/status/${list}`, idx } }
}
