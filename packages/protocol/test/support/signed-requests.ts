import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import {
  type KeyLookup,
  MAX_LIFETIME,
  memoryNonceStore,
  namingFor,
  type RawRequest,
  type RequestVerifierOptions,
  type SignatureProfile,
  type SignatureReason,
  type SignatureResult,
  type SigningKey,
} from '../../src/index.ts'
import { bytesOf, type Case, readVectors } from './vectors.ts'

/** An agent of the vectors. */
export interface VectorKey {
  readonly seedHex: string
  readonly publicKeyHex: string
  readonly keyid: string
  readonly did: string
  readonly status: 'active' | 'suspended' | 'revoked'
  readonly signatureAgent: string
}

interface VectorRequest extends Omit<RawRequest, 'body'> {
  readonly body?: string | null
}

/** A signer of the vectors that is no agent, by its directory. */
type DirectoryKey = Omit<VectorKey, 'did' | 'status'> & Readonly<Record<'did' | 'status', null>>

/** What a case assumes otherwise than the file. */
interface RequestCase extends Case {
  readonly request: VectorRequest
  /** With `maxLifetimeSeconds`: the rules for the place of the keys. Default: those for agents. */
  readonly profile?: SignatureProfile
  readonly maxLifetimeSeconds?: number
  readonly audiences?: readonly string[]
  /** In milliseconds since 1970. */
  readonly now?: number
  readonly allowTestKeys?: boolean
}

export interface ValidCase extends RequestCase {
  readonly base: string
  /** Whose key it is. Default: `agent`. */
  readonly key?: keyof Vectors['keys']
  readonly digest: SignatureResult['digest']
  readonly replay?: SignatureResult['replay']
}

export interface InvalidCase extends RequestCase {
  readonly reason: SignatureReason
  /** Names of valid cases that were received before. */
  readonly after?: readonly string[]
}

interface Vectors {
  readonly shortName: string
  readonly idHeader: string
  readonly now: number
  readonly audiences: readonly string[]
  readonly keys: Readonly<
    Record<'agent' | 'other' | 'suspended' | 'revoked' | 'published', VectorKey> &
      Record<'bot' | 'card' | 'rfc9421', DirectoryKey>
  >
  /** Members of Signature-Agent, under the key `sig1`. */
  readonly signatureAgents: {
    readonly valid: readonly (Case & {
      readonly field: string
      readonly type: 'directory' | 'jwks_uri' | 'cimd'
      readonly url: string
    })[]
    readonly ignored: readonly (Case & { readonly field: string })[]
    readonly invalid: readonly (Case & { readonly field: string })[]
  }
  readonly valid: readonly ValidCase[]
  readonly invalid: readonly InvalidCase[]
}

export const vectors = readVectors<Vectors>('http-signatures.json')
export const naming = namingFor(vectors.shortName, vectors.idHeader)
export const NOW = vectors.now

/** The request of a case, its body in UTF-8. */
export function requestOf({ body, ...request }: VectorRequest): RawRequest {
  if (body === undefined) return request
  return { ...request, body: body === null ? null : new TextEncoder().encode(body) }
}

const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Verifies with OpenSSL, which is strict enough for the keys of the vectors. */
export function verifySignature(key: Uint8Array, message: Uint8Array, signature: Uint8Array) {
  const der = Buffer.concat([SPKI, key])
  return verify(
    null,
    message,
    createPublicKey({ key: der, format: 'der', type: 'spki' }),
    signature,
  )
}

/** Signs with OpenSSL. */
export async function signWith(seedHex: string, message: Uint8Array): Promise<Uint8Array> {
  const der = Buffer.concat([PKCS8, bytesOf(seedHex)])
  return sign(null, message, createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

/** Finds the keys of the vectors by address and keyid. */
export const findKey: KeyLookup = ({ signatureAgent: { url }, keyid }) => {
  const key = Object.values(vectors.keys).find((each) => each.signatureAgent === url)
  if (key === undefined && !url.startsWith('https://id.example/agent/')) return 'untrusted-agent'
  return key === undefined || key.keyid !== keyid ? 'unknown-key' : signingKey(key)
}

/** The options of a case that differ from `optionsFor()`. */
export function optionsOf(each: RequestCase): RequestVerifierOptions {
  const { profile, maxLifetimeSeconds = MAX_LIFETIME, audiences, now = NOW, allowTestKeys } = each
  const rules = profile === undefined ? null : { profile, maxLifetimeSeconds }
  return optionsFor({
    rulesOf: () => rules,
    now: () => now,
    allowTestKeys,
    ...(audiences !== undefined && { audiences }),
  })
}

export function signingKey({ publicKeyHex, did, status }: VectorKey | DirectoryKey): SigningKey {
  return { publicKey: bytesOf(publicKeyHex), did, status }
}

/** A verifier's options as the vectors assume them, with a nonce store that is older than every request. */
export function optionsFor(changes: Partial<RequestVerifierOptions> = {}): RequestVerifierOptions {
  const now = changes.now?.() ?? NOW
  let clock = now - 600_000
  const nonces = memoryNonceStore({ now: () => clock, random: () => 'B'.repeat(22) })
  clock = now
  return {
    audiences: vectors.audiences,
    naming,
    findKey,
    verifySignature,
    nonces,
    now: () => NOW,
    ...changes,
  }
}

/** Asserts that a request is refused for a reason. */
export function assertReason({ verdict, reason, did }: SignatureResult, expected: SignatureReason) {
  assert.equal(reason, expected)
  assert.notEqual(verdict, 'verified')
  if (expected === 'bad-signature') assert.equal(did, null, 'no DID without proof')
}
