import {
  encodeBase64Url,
  InvalidTokenError,
  keyEncodingFault,
  keyThumbprint,
  namingOfDid,
  type ParsedJws,
  parseJws,
  TOKEN_TYPES,
  verifyToken,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { type Read, UnexpectedShape, wireReader } from '../responses/read-schema.ts'
import * as schemas from '../responses/schemas.ts'
import type { AgentStatus, Assurance, Grade } from '../responses/types.ts'
import { IssuerClient, issuerOrigin } from './issuer-client.ts'
import { type IssuerKeys, readIssuerKeySet } from './key-set.ts'
import { isListOf, orInvalidToken, readStatusList, statusIn } from './status-list.ts'
import type { FeedPosition, IssuerJwk } from './types.ts'
import { bytesOf, verifyJwkSignature } from './verify-jwk-signature.ts'

/** An issuer that you trust. */
export interface TrustedIssuer {
  /** The origin of the service (its `BASE_URL`), such as `https://id.example`. */
  readonly issuer: string | URL
  /** Its keys. Default: those that it publishes at `/.well-known/jwks.json`, fetched and kept for a minute. */
  readonly jwks?: IssuerKeys | undefined
}

/** Options of `verifyStaple`. */
export interface VerifyStapleOptions {
  /** The issuers that you trust. A token of anyone else is refused. */
  readonly issuers: readonly (string | URL | TrustedIssuer)[]
  /** Used instead of the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The clock, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** Options of `verifyCertificate`. */
export interface VerifyCertificateOptions extends VerifyStapleOptions {
  /**
   * Status list tokens that you have, to verify without a network; a certificate whose list is not among them is refused with
   * `ISSUER_UNAVAILABLE`. `null`: you check the status yourself. Default: the list is fetched from the issuer, and kept for as long as
   * it says.
   */
  readonly statusLists?: readonly string[] | null | undefined
}

/** Options of `Registry.verifyCertificate`. */
export interface ServiceCertificateOptions {
  /** How old the status list may be, in seconds; a shared cache in front of the service adds its own time. Default: what the list says. */
  readonly maxAgeSeconds?: number | undefined
  /** The public address of the service (its `BASE_URL`), if the Registry uses an internal one. Default: that of the Registry. */
  readonly issuer?: string | URL | undefined
  /** The clock, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** A verified certificate. It proves nothing about who sent it: verify a signature with `publicKey`. */
export interface VerifiedCertificate {
  readonly issuer: string
  readonly did: string
  /** The agent's key: 32 bytes. */
  readonly publicKey: Uint8Array
  /** Its JWK thumbprint (RFC 7638), the `keyid` of signed requests. */
  readonly keyThumbprint: string
  /** The number of the key among the keys of the agent, from 1. */
  readonly keySequence: number
  /** ISO 8601, UTC. */
  readonly keyChangedAt: string
  /** When the agent came to its owner, ISO 8601, UTC; null if it was never transferred. */
  readonly ownerChangedAt: string | null
  /** The identity provider that verified the owner; null if the owner is not verified. */
  readonly identityMethod: string | null
  readonly identityLevel: 'verified' | 'unverified'
  readonly assurance: Assurance | null
  readonly grade: Grade
  /** Of the rules for the grade. */
  readonly policyVersion: number
  readonly didWeb: string
  /**
   * The entry of the key in the service’s transparency log; null: none is named. Only a proof shows that it is there
   * (`GET /log/proof/{did}`).
   */
  readonly log: { readonly origin: string; readonly index: number } | null
  /** How many hops a chain of delegations of the agent may have; 0: it may not delegate. */
  readonly maxDelegationDepth: number
  /** Milliseconds since 1970: what the service knew until then is in the certificate. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The entry of the status list. */
  readonly statusList: { readonly uri: string; readonly idx: number }
  /** Milliseconds since 1970: when the list was issued that says that the certificate is valid. Null if you check it yourself. */
  readonly statusAsOf: number | null
  /** The `kid` of the issuer's key. */
  readonly kid: string
}

/** A verified staple: an agent's status at a time. */
export interface VerifiedStaple {
  readonly issuer: string
  readonly did: string
  /** JWK thumbprint (RFC 7638) of the key that the agent had. */
  readonly keyThumbprint: string
  readonly status: AgentStatus
  readonly grade: Grade
  /** The place in the feed that the status is of, or newer; null if the staple names none. */
  readonly feed: FeedPosition | null
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The `kid` of the issuer's key. */
  readonly kid: string
}

/**
 * Verifies the certificate of an agent, without a question to the service if its keys and status list are here. Checks type,
 * issuer, algorithm, signature, `vct`, times, and that it was neither replaced nor revoked nor suspended. Certificates are
 * public: one proves nothing about who sends it.
 * @param token in compact form, also with a `~` at its end (SD-JWT without disclosures)
 * @throws CountersignError INVALID_TOKEN, CERTIFICATE_REVOKED, CERTIFICATE_SUSPENDED; ISSUER_UNAVAILABLE if the keys or the status list
 *   cannot be read; INVALID_ARGUMENT
 */
export async function verifyCertificate(
  token: string,
  options: VerifyCertificateOptions,
): Promise<VerifiedCertificate> {
  return verifyCertificateBy(clientFor(options.fetch), token, options)
}

/**
 * The same, with a client of one's own.
 * @param maxAgeSeconds how old a fetched status list may be; by default what the list says
 */
export async function verifyCertificateBy(
  client: IssuerClient,
  token: string,
  options: Omit<VerifyCertificateOptions, 'fetch'>,
  maxAgeSeconds?: number,
): Promise<VerifiedCertificate> {
  const { statusLists, now = Date.now } = options
  const { certificate: typ } = TOKEN_TYPES
  const verified = await verifiedToken(token, { typ, what: 'certificate' }, options, client)
  const certificate = certificateOf(verified)
  if (statusLists === null) return certificate
  const { issuer, statusList } = certificate
  const keysFor = (kid: string) => keysOf(verified.trusted, kid, client)
  const list =
    statusLists === undefined
      ? await client.statusList(issuer, statusList.uri, { now: now(), keysFor, maxAgeSeconds })
      : await listAmong(statusLists, { issuer, uri: statusList.uri, keysFor, now: now() })
  const status = statusIn(list, statusList.idx)
  if (status === 'valid') return { ...certificate, statusAsOf: list.issuedAt }
  throw status === 'suspended'
    ? new CountersignError('CERTIFICATE_SUSPENDED', 'The agent of this certificate is suspended.')
    : new CountersignError('CERTIFICATE_REVOKED', 'The certificate was replaced or revoked.')
}

/**
 * Verifies a staple: the status of an agent, signed by its service, valid for 15 minutes. Decide by `status`.
 * @throws CountersignError INVALID_TOKEN; ISSUER_UNAVAILABLE if the keys cannot be read; INVALID_ARGUMENT
 */
export async function verifyStaple(
  token: string,
  options: VerifyStapleOptions,
): Promise<VerifiedStaple> {
  const verified = await verifiedToken(
    token,
    { typ: TOKEN_TYPES.staple, what: 'staple' },
    options,
    clientFor(options.fetch),
  )
  const { iss, sub, cnf, agentStatus, grade, feed, iat, exp } = claimsOf(
    verified,
    wireReader(schemas.STAPLE_CLAIMS, null),
  )
  assertOfIssuer(verified.trusted.issuer, iss, sub)
  return {
    issuer: iss,
    did: sub,
    keyThumbprint: cnf.jkt,
    status: agentStatus,
    grade: grade as Grade,
    feed: feed ?? null,
    issuedAt: iat * 1000,
    expiresAt: exp * 1000,
    kid: verified.token.header.kid,
  }
}

interface VerifiedToken {
  readonly what: string
  readonly token: ParsedJws
  readonly trusted: Trusted
}

interface ExpectedKind {
  readonly typ: (typeof TOKEN_TYPES)['certificate' | 'staple']
  readonly what: string
}

export interface Trusted {
  readonly issuer: string
  /** Null: fetched. */
  readonly keys: readonly IssuerJwk[] | null
}

async function verifiedToken(
  text: string,
  { typ, what }: ExpectedKind,
  { issuers, now = Date.now }: VerifyStapleOptions,
  client: IssuerClient,
): Promise<VerifiedToken> {
  const all = issuers.map(readTrusted)
  return orInvalidToken(what, async () => {
    const { header, payload } = parseJws(text)
    const trusted = all.find(({ issuer }) => issuer === payload.iss)
    if (trusted === undefined) throw new InvalidTokenError('is not of an issuer that you trust.')
    // Nothing is fetched for a token that is refused anyway.
    if (header.typ !== typ) throw new InvalidTokenError(`has the type ${header.typ}, not ${typ}.`)
    const keys = await keysOf(trusted, header.kid, client)
    const expected = { typ, issuer: trusted.issuer, keys, now: now() / 1000 }
    return { what, token: await verifyToken(text, expected, verifyJwkSignature), trusted }
  })
}

export function readTrusted(given: string | URL | TrustedIssuer): Trusted {
  const entry = typeof given === 'string' || given instanceof URL ? { issuer: given } : given
  const issuer = issuerOrigin(entry.issuer)
  if (entry.jwks === undefined) return { issuer, keys: null }
  const keys = readIssuerKeySet(entry.jwks)
  if (keys !== null) return { issuer, keys }
  const message = 'jwks takes a key set, such as that of /.well-known/jwks.json.'
  throw new CountersignError('INVALID_ARGUMENT', message)
}

export async function keysOf({ issuer, keys }: Trusted, kid: string, client: IssuerClient) {
  return keys ?? (await client.keys(issuer, kid))
}

function certificateOf(verified: VerifiedToken): VerifiedCertificate {
  const claims = claimsOf(verified, wireReader(schemas.CERTIFICATE_CLAIMS, null))
  const { iss, sub, vct, cnf, status } = claims
  assertOfIssuer(verified.trusted.issuer, iss, sub)
  const { uri, idx } = status.status_list
  const publicKey = bytesOf(cnf.jwk.x)
  const isKey = encodeBase64Url(publicKey) === cnf.jwk.x && keyEncodingFault(publicKey) === null
  const fault =
    (vct !== `${iss}/credentials/agent-certificate` && 'has another vct.') ||
    (!isListOf(iss, uri) && 'names a status list of another issuer.') ||
    (!isKey && 'has a key that no agent can have.')
  if (fault) throw new CountersignError('INVALID_TOKEN', `The certificate ${fault}`)
  const { identityMethod, identityLevel, assurance, policyVersion, keySequence } = claims
  return {
    issuer: iss,
    did: sub,
    publicKey,
    keyThumbprint: keyThumbprint(publicKey),
    keySequence,
    keyChangedAt: claims.keyChangedAt,
    ownerChangedAt: claims.ownerChangedAt ?? null,
    identityMethod,
    identityLevel,
    assurance: assurance as Assurance | null,
    grade: claims.grade as Grade,
    policyVersion,
    didWeb: claims.did_web,
    log: claims.log ?? null,
    maxDelegationDepth: claims.maxDelegationDepth ?? 0,
    issuedAt: claims.iat * 1000,
    expiresAt: claims.exp * 1000,
    statusList: { uri, idx },
    statusAsOf: null,
    kid: verified.token.header.kid,
  }
}

function claimsOf<T>({ what, token }: VerifiedToken, read: Read<T>): T {
  try {
    return read(token.payload)
  } catch (cause) {
    if (!(cause instanceof UnexpectedShape)) throw cause
    const message = `The ${what} has other claims than it should have.`
    throw new CountersignError('INVALID_TOKEN', message, { cause })
  }
}

function assertOfIssuer(issuer: string, iss: string, sub: string): void {
  if (iss === issuer && namingOfDid(sub) !== null) return
  throw new CountersignError('INVALID_TOKEN', 'The token is not about an agent of its issuer.')
}

async function listAmong(tokens: readonly string[], context: Parameters<typeof readStatusList>[1]) {
  const token = tokens.find((each) => subjectOf(each) === context.uri)
  if (token !== undefined) return readStatusList(token, context)
  const message = `The status list ${context.uri} is not among statusLists.`
  throw new CountersignError('ISSUER_UNAVAILABLE', message)
}

function subjectOf(token: string): unknown {
  try {
    return parseJws(token).payload.sub
  } catch {
    return null
  }
}

const clients = new WeakMap<typeof globalThis.fetch, IssuerClient>()

/** One for each fetch function, so that keys and lists are fetched once. */
export function clientFor(given: typeof globalThis.fetch | undefined): IssuerClient {
  const fetch = given ?? platformFetch
  const client = clients.get(fetch) ?? new IssuerClient(fetch)
  clients.set(fetch, client)
  return client
}

/** Looked up at each call, since it may be replaced later; and called without an object, as browsers require. */
const platformFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init)
