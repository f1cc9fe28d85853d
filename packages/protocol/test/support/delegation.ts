import { createPublicKey, verify } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import {
  type AgentStatus,
  type DelegationFault,
  type DelegationHop,
  type DelegationPolicy,
  type IssuerJwk,
  keySetUrlOf,
  memoryNonceStore,
  namingFor,
  parseJws,
  type RawRequest,
  type RequestVerifierOptions,
  type RootLookup,
  type SignatureReason,
  STATUS_VALUES,
  statusAt,
  TOKEN_TYPES,
  type VerifyWithJwk,
  verifyToken,
} from '../../src/index.ts'
import { requestOf, verifySignature } from './signed-requests.ts'
import { bytesOf, type Case, readVectors } from './vectors.ts'

interface VectorAgent {
  readonly publicKeyHex: string
  readonly keyid: string
  readonly did: string
  readonly status: AgentStatus
  readonly signatureAgent: string
  readonly keySequence: number
}

interface DelegationCase extends Case {
  readonly request: Omit<RawRequest, 'body'> & { readonly body?: string | null }
  /** Null: the verifier accepts no chains. Default: that of the file. */
  readonly delegation?: DelegationPolicy | null
  /** Null: it cannot be read. Default: that of the file. */
  readonly statusList?: null
}

interface DelegationVectors {
  readonly shortName: string
  readonly idHeader: string
  readonly now: number
  readonly audiences: readonly string[]
  readonly issuer: string
  readonly keySet: { readonly keys: readonly IssuerJwk[] }
  readonly statusList: string
  readonly agents: readonly VectorAgent[]
  readonly delegation: DelegationPolicy
  readonly valid: readonly (DelegationCase & {
    readonly did: string
    readonly hops: readonly DelegationHop[]
  })[]
  readonly invalid: readonly (DelegationCase & {
    readonly case: number | null
    readonly reason: SignatureReason
    readonly fault?: DelegationFault
    readonly after?: readonly string[]
  })[]
}

export const vectors = readVectors<DelegationVectors>('delegation.json')
const NOW = vectors.now

/** What a service says of its agents, its keys and its list. */
function findRoot(statusList: string | null): RootLookup {
  return async ({ signatureAgent, certificate, did, keyid }) => {
    const url = keySetUrlOf(signatureAgent)
    const agent = vectors.agents.find((each) => each.signatureAgent === url)
    if (agent === undefined) return 'untrusted-agent'
    const expected = { issuer: vectors.issuer, keys: vectors.keySet.keys, now: NOW / 1000 }
    const typ = TOKEN_TYPES.certificate
    const token = await verifyToken(certificate, { ...expected, typ }, verifyWithJwk).catch(
      () => null,
    )
    if (token === null || did !== agent.did) return 'delegation-invalid'
    if (statusList === null) return 'directory-unavailable'
    const { status_list: list } = parseJws(statusList).payload as {
      readonly status_list: { readonly lst: string }
    }
    const { status } = token.payload as {
      readonly status: { readonly status_list: { readonly idx: number } }
    }
    const bytes = inflateSync(Buffer.from(list.lst, 'base64url'))
    const entry = statusAt(bytes, status.status_list.idx)
    if (entry !== STATUS_VALUES.valid && entry !== STATUS_VALUES.suspended)
      return 'delegation-ended'
    if (keyid !== agent.keyid) return 'delegation-ended'
    return { publicKey: bytesOf(agent.publicKeyHex), did: agent.did, status: agent.status }
  }
}

const verifyWithJwk: VerifyWithJwk = (jwk, message, signature) => {
  const key = createPublicKey({ key: jwk as never, format: 'jwk' })
  return jwk.kty === 'OKP'
    ? verify(null, message, key, signature)
    : verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

/** The options of a verifier as a case assumes them, with a nonce store that is older than every request. */
export function optionsOf(
  { delegation = vectors.delegation, statusList }: Partial<DelegationCase> = {},
  changes: Partial<RequestVerifierOptions> = {},
): RequestVerifierOptions {
  let clock = NOW - 600_000
  const nonces = memoryNonceStore({ now: () => clock, random: () => 'B'.repeat(22) })
  clock = NOW
  const list = statusList === null ? null : vectors.statusList
  return {
    audiences: vectors.audiences,
    naming: namingFor(vectors.shortName, vectors.idHeader),
    findKey: ({ signatureAgent: { url }, keyid }) => {
      const agent = vectors.agents.find((each) => each.signatureAgent === url)
      if (agent === undefined) return 'untrusted-agent'
      if (agent.keyid !== keyid) return 'unknown-key'
      return { publicKey: bytesOf(agent.publicKeyHex), did: agent.did, status: agent.status }
    },
    verifySignature,
    nonces,
    delegation: delegation === null ? null : { ...delegation, findRoot: findRoot(list) },
    now: () => NOW,
    ...changes,
  }
}

export function validRequest(name: string): RawRequest {
  const found = vectors.valid.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no valid case ${name}`)
  return requestOf(found.request)
}
