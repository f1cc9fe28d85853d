import {
  didOf,
  matchesContentDigest,
  type Naming,
  type NonceStore,
  type ProvenKey,
  parseDidOrTail,
  type RawRequest,
  requestVerifier,
  type SignatureResult,
  StructuredFieldError,
} from '@countersign/protocol'
import { isSignature, type KeyDirectories } from '@countersign/sdk'
import type { AgentCache } from './agent-cache.ts'
import { BoundedMap } from './bounded-map.ts'
import type { Caller, LookupResult } from './decision/decide.ts'
import { withTimeLimit } from './time-limit.ts'

export interface SignatureCheckerOptions {
  /** Origins. */
  readonly audiences: readonly string[]
  /** The origin of the service, as agents name it. */
  readonly issuer: string
  readonly naming: Naming
  readonly agents: AgentCache<unknown>
  readonly nonces: NonceStore
  readonly directories: KeyDirectories
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
}

/** Reads the body of a request. */
export type BodyReader = () => Promise<Uint8Array | null | 'too-large'>

/** A caller whose key is proven. */
export type Signer = Extract<Caller, { kind: 'named' | 'directory' }>

/** The result of a check, and what is known of the agent that the signature names. */
export interface CheckedSignature {
  readonly result: SignatureResult
  /** Who signed; null unless the key is proven. */
  readonly signer: Signer | null
  /** Null if the signature names no agent of the service. */
  readonly lookup: LookupResult | null
  readonly answeredBy: 'service' | 'cache'
}

/** How long after asking for an unknown key the service is not asked for another one of the same agent. */
const REFRESH_MS = 5_000
const MAX_REFRESHED = 10_000

/**
 * Verifies the signatures of requests. Keys of agents come from the service's answers, never from an address in a request; other keys
 * from the directories that the policy lists.
 */
export class SignatureChecker {
  readonly #options: SignatureCheckerOptions
  readonly #refreshedAt = new BoundedMap<string, number>(MAX_REFRESHED)

  constructor(options: SignatureCheckerOptions) {
    this.#options = options
  }

  /**
   * @param admits the policy, asked once the key is proven and before the nonce is recorded
   * @param readBody null if the body is not visible here, or in `request` already
   */
  async check(
    request: RawRequest,
    admits: (signer: Signer, lookup: LookupResult | null) => boolean,
    readBody: BodyReader | null,
  ): Promise<CheckedSignature> {
    const { audiences, naming, nonces, directories } = this.#options
    const found: { lookup: LookupResult | null; answeredBy: 'service' | 'cache' } = {
      lookup: null,
      answeredBy: 'cache',
    }
    const verify = requestVerifier({
      audiences,
      naming,
      nonces: timely(nonces),
      verifySignature: isSignature,
      now: Date.now,
      findKey: async ({ signatureAgent, keyid }) => {
        const did = this.#didAt(signatureAgent.url)
        if (did === null) return directories.findKey({ signatureAgent, keyid })
        Object.assign(found, await this.#lookup(did, keyid))
        const agent = found.lookup === null ? null : agentIn(found.lookup)
        const key = agent?.key
        if (key?.keyid === keyid) {
          // No status: the policy decides on it, in `admits`.
          return { publicKey: key.publicKey, did, status: null }
        }
        return found.lookup?.kind === 'answered' ? 'unknown-key' : 'directory-unavailable'
      },
      profile: (agent) => directories.find(agent)?.profile ?? 'strict',
      admit: (key) => {
        const signer = this.#signerOf(key)
        return signer !== null && admits(signer, found.lookup)
      },
    })
    const result = await withBody(await verify(request), readBody)
    const { verdict, reason, did, signatureAgent } = result
    const isProven = verdict === 'verified' || reason === 'not-admitted'
    const signer = isProven && signatureAgent ? this.#signerOf({ did, signatureAgent }) : null
    return { result, signer, ...found }
  }

  #signerOf({ did, signatureAgent }: Pick<ProvenKey, 'did' | 'signatureAgent'>): Signer | null {
    if (did !== null) return { kind: 'named', did, proof: 'signature' }
    const directory = this.#options.directories.find(signatureAgent)
    return directory && { kind: 'directory', url: directory.url }
  }

  /** The agent whose key set is at an address of the service; null if none is. */
  #didAt(url: string): string | null {
    const { issuer, naming } = this.#options
    const prefix = `${issuer}/agent/`
    if (!url.startsWith(prefix) || !url.endsWith(KEY_SET)) return null
    const tail = parseDidOrTail(naming, url.slice(prefix.length, -KEY_SET.length))
    return tail === null ? null : didOf(naming, tail)
  }

  /** Asks the service again if the cached answer has another key, since the agent may have changed it: once in REFRESH_MS. */
  async #lookup(
    did: string,
    keyid: string,
  ): Promise<{ lookup: LookupResult; answeredBy: 'service' | 'cache' }> {
    const { agents, now } = this.#options
    const cached = agents.getFresh(did)
    if (cached !== undefined) {
      const refreshedAt = this.#refreshedAt.get(did) ?? Number.NEGATIVE_INFINITY
      const isOther = cached.agent !== null && cached.agent.key?.keyid !== keyid
      if (!isOther || now() - refreshedAt < REFRESH_MS) {
        return { lookup: { kind: 'answered', agent: cached.agent }, answeredBy: 'cache' }
      }
      this.#refreshedAt.set(did, now())
    }
    return { lookup: await agents.lookup(did), answeredBy: 'service' }
  }
}

const KEY_SET = '/jwks.json'

/** How long a nonce store may take, in milliseconds. */
const STORE_TIMEOUT_MS = 1_000

/** A store that takes too long cannot tell. */
function timely(store: NonceStore): NonceStore {
  return {
    record(nonce) {
      const outcome = store.record(nonce)
      if (!(outcome instanceof Promise)) return outcome
      return withTimeLimit(outcome, STORE_TIMEOUT_MS).then((each) =>
        each === 'late' ? 'unchecked' : each,
      )
    },
  }
}

function agentIn(lookup: LookupResult) {
  return lookup.kind === 'answered' ? lookup.agent : (lookup.last?.agent ?? null)
}

/** Compares the body with the signed digest. Reads it only for a proven agent, so that nobody else makes us buffer it. */
async function withBody(
  result: SignatureResult,
  readBody: BodyReader | null,
): Promise<SignatureResult> {
  const { verdict, contentDigest, digest } = result
  if (verdict !== 'verified' || readBody === null || digest === 'checked') return result
  const body = await readBody().catch(() => 'too-large' as const)
  if (body === 'too-large') return { ...result, digest: 'unchecked' }
  const bytes = body ?? new Uint8Array()
  if (contentDigest === null) {
    // HTTP/2 requests can have content without a header that says so.
    return bytes.length === 0 ? result : invalid(result, 'components')
  }
  return isDigestOf(contentDigest, bytes)
    ? { ...result, digest: 'checked' }
    : invalid(result, 'digest')
}

function invalid(result: SignatureResult, reason: 'components' | 'digest'): SignatureResult {
  return { ...result, verdict: 'invalid', reason, status: 401 }
}

function isDigestOf(field: string, body: Uint8Array): boolean {
  try {
    return matchesContentDigest(field, body)
  } catch (error) {
    if (error instanceof StructuredFieldError) return false
    throw error
  }
}
