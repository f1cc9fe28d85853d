import {
  agentOfKeySetUrl,
  type DelegationRoot,
  didOf,
  fieldValue,
  type KeyReference,
  type Naming,
  type ParsedSignature,
  parseJws,
  type RootFault,
  type SigningKey,
} from '@countersign/protocol'
import type { CountersignError, KeyDirectories, VerifiedCertificate } from '@countersign/sdk'
import type { AgentCache, CacheEntry } from './agent-cache.ts'
import { BoundedMap } from './bounded-map.ts'
import type { Caller, LookupResult } from './decision/decide.ts'
import type { AgentData, Basis, CertificateFault } from './decision/decision.ts'
import type { Outcome } from './decision/outcome.ts'
import type { TrustedIssuer } from './issuers/trusted-issuers.ts'
import type { CertificateClient } from './options.ts'
import { withTimeLimit } from './time-limit.ts'

export interface SignerKeysOptions {
  /** The origin of the service, as agents name it. */
  readonly issuer: string
  readonly naming: Naming
  readonly registry: Partial<CertificateClient>
  readonly agents: AgentCache<Outcome>
  /** For decisions by an answer of the service. */
  readonly bases: Readonly<Record<'service' | 'cache', Basis>>
  readonly directories: KeyDirectories
  readonly cacheMs: number
  readonly timeoutMs: number
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** The clock of certificates, in milliseconds since 1970. */
  readonly clock: () => number
}

/** A signature that was read, and the trusted issuer whose agent it names, if any. */
export interface ReceivedSignature extends ParsedSignature {
  readonly trusted: TrustedIssuer | null
}

/** A caller whose key is proven. */
export type Signer = Extract<Caller, { kind: 'named' | 'directory' }>

/** The key that a signature names, and who has signed if it verifies. */
export interface SignerKey {
  readonly key: SigningKey
  readonly signer: Signer
  /** What is known of the agent; null for a directory. */
  readonly lookup: LookupResult | null
  readonly basis: Basis | null
  /** What was derived from the cached answer that this is; null if it is none. */
  readonly derived: Outcome[] | null
}

/** Why there is no key that counts. */
export interface MissingKey {
  readonly fault: RootFault
  /** Why the certificate in the request does not count; null if that is not the reason. */
  readonly certificateFault: CertificateFault | null
}

/** The tokens that a request carries, and the agent and its key that they should be for. */
interface CarriedTokens {
  readonly did: string
  readonly keyid: string
  readonly certificate: string
  readonly staple: string | null
}

/** What a certificate at the root of a chain names. */
interface CertifiedKey extends Pick<DelegationRoot, 'did' | 'keyid'> {
  readonly keySequence: unknown
}

/** How long after asking for an unknown key the service is not asked for another one of the same agent. */
const REFRESH_MS = 5_000
const MAX_REFRESHED = 10_000

/**
 * Finds the keys of signers. Those of agents come from certificates of trusted issuers and from the service's answers, never from an
 * address in a request; other keys from the directories that the policy lists.
 */
export class SignerKeys {
  readonly #options: SignerKeysOptions
  readonly #refreshedAt = new BoundedMap<string, number>(MAX_REFRESHED)

  constructor(options: SignerKeysOptions) {
    this.#options = options
  }

  /** The key by the certificate in the request, the service's answer, or a directory of the policy. */
  find(signature: ReceivedSignature): SignerKey | MissingKey | Promise<SignerKey | MissingKey> {
    const { issuer, naming } = this.#options
    const { trusted, keyid, signatureAgent } = signature
    if (trusted !== null) {
      const { fields } = signature.received
      const did = trusted.didAt(signatureAgent.url)
      // Another member of Signature-Agent names the issuer.
      if (did === null) return missing('untrusted-agent')
      const certificate = fieldValue(fields, trusted.naming.tokenHeaders.certificate.toLowerCase())
      if (certificate !== null) {
        const staple = stapleIn(signature, trusted)
        return this.#certifiedKey(trusted, { did, keyid, certificate, staple })
      }
      if (trusted.issuer !== issuer) return missing('unknown-key')
    }
    const tail = agentOfKeySetUrl(naming, issuer, signatureAgent.url)
    return tail === null
      ? this.#directoryKey(signature)
      : this.#lookupKey(didOf(naming, tail), keyid)
  }

  /** Whether roots of chains can be found for a signature. A client of the service may not verify certificates. */
  findsRoots({ trusted }: ReceivedSignature): boolean {
    return trusted !== null || this.#options.registry.verifyCertificate !== undefined
  }

  /**
   * The agent's key at the root of a chain of delegations, whose certificate counts only with a current status: by a trusted issuer, or by
   * the service, which has to be reachable.
   */
  async findRoot(
    signature: ReceivedSignature,
    { certificate, did, keyid }: DelegationRoot,
  ): Promise<SignerKey | MissingKey> {
    const { issuer, naming } = this.#options
    const { trusted, signatureAgent } = signature
    if (trusted !== null) {
      const named = trusted.didAt(signatureAgent.url)
      if (named === null) return missing('untrusted-agent')
      const staple = stapleIn(signature, trusted)
      const found = await this.#certifiedKey(trusted, { did: named, keyid, certificate, staple })
      return 'fault' in found ? asRoot(found) : found
    }
    const tail = agentOfKeySetUrl(naming, issuer, signatureAgent.url)
    if (tail === null) return missing('untrusted-agent')
    const status = await this.#statusAtService(certificate)
    if (typeof status !== 'string') return asRoot(status)
    if (did !== didOf(naming, tail)) return asRoot(INVALID)
    const { keySequence } = parseJws(certificate).payload
    return this.#currentRoot({ did, keyid, keySequence }, status)
  }

  async #certifiedKey(
    trusted: TrustedIssuer,
    { did, keyid, certificate: token, staple }: CarriedTokens,
  ): Promise<SignerKey | MissingKey> {
    const certificate = await trusted.certificate(token, did, keyid)
    if (certificate === 'unavailable') return missing('directory-unavailable')
    if (typeof certificate === 'string') return missing('unknown-key', certificate)
    const isOwn = trusted.issuer === this.#options.issuer
    const restricted = isOwn ? this.#restrictionOf(certificate) : null
    if (restricted === 'other-key') return missing('unknown-key', 'certificate-replaced')
    const evidence = await trusted.evidence(certificate, staple, restricted)
    if (evidence === 'certificate-replaced') return missing('unknown-key', evidence)
    const { publicKey, lookup, basis } = evidence
    return agentKey(did, publicKey, { lookup, basis, derived: null })
  }

  /** What the service said last of an agent, if that is against its certificate. */
  #restrictionOf({ did, keySequence }: VerifiedCertificate) {
    const known = this.#options.agents.known(did)
    const agent = known?.agent ?? null
    if (known === null || agent === null) return null
    if ((agent.keySequence ?? 0) > keySequence) return 'other-key'
    return agent.status === 'active' ? null : { status: agent.status, ageMs: known.ageMs }
  }

  /** Verifies a certificate of the service, with keys and a list that are as old as answers may be. */
  async #statusAtService(certificate: string): Promise<'active' | 'suspended' | MissingKey> {
    const { registry, issuer, cacheMs, timeoutMs, clock: now } = this.#options
    const options = { issuer, now, maxAgeSeconds: cacheMs / 1000 }
    try {
      const verifying = registry.verifyCertificate?.(certificate, options)
      const verified = verifying && (await withTimeLimit(verifying, timeoutMs))
      return verified === undefined || verified === 'late' ? UNAVAILABLE : 'active'
    } catch (error) {
      const { code } = error as Partial<CountersignError>
      if (code === 'CERTIFICATE_SUSPENDED') return 'suspended'
      if (code === 'CERTIFICATE_REVOKED') return REPLACED
      return code === 'INVALID_TOKEN' ? INVALID : UNAVAILABLE
    }
  }

  /**
   * The key of an agent by the service's answer, if it is that of a certificate.
   * @param status what the status list says
   */
  async #currentRoot(
    { did, keyid, keySequence }: CertifiedKey,
    status: 'active' | 'suspended',
  ): Promise<SignerKey | MissingKey> {
    const { agents, bases } = this.#options
    const isCurrent = ({ key, ...agent }: AgentData) =>
      key?.keyid === keyid && agent.keySequence === keySequence
    const cached = this.#cachedAnswer(did, isCurrent)
    const lookup = cached ? answered(cached.agent) : await agents.lookup(did)
    // An older answer does not rescue a chain, whatever the policy has for an unreachable service.
    if (lookup.kind !== 'answered') return asRoot(UNAVAILABLE)
    const { agent } = lookup
    if (agent === null) return missing('unknown-key')
    if (agent.key === undefined || !isCurrent(agent)) return asRoot(REPLACED)
    const isSuspended = status === 'suspended' && agent.status === 'active'
    return agentKey(did, agent.key.publicKey, {
      lookup: answered(isSuspended ? { ...agent, status, verified: false } : agent),
      basis: cached ? bases.cache : bases.service,
      derived: null,
    })
  }

  #lookupKey(did: string, keyid: string): SignerKey | MissingKey | Promise<SignerKey | MissingKey> {
    const { bases } = this.#options
    const cached = this.#cachedAnswer(did, ({ key }) => key?.keyid === keyid)
    if (cached === null) return this.#askForKey(did, keyid)
    return keyOf(answered(cached.agent), { did, keyid }, bases.cache, cached.derived)
  }

  async #askForKey(did: string, keyid: string): Promise<SignerKey | MissingKey> {
    const { agents, bases } = this.#options
    return keyOf(await agents.lookup(did), { did, keyid }, bases.service, null)
  }

  /** Null if the service has to be asked, also if the agent may have another key since: once in REFRESH_MS. */
  #cachedAnswer(did: string, isCurrent: (agent: AgentData) => boolean): CacheEntry<Outcome> | null {
    const { agents, now } = this.#options
    const cached = agents.getFresh(did)
    if (cached === undefined) return null
    if (cached.agent === null || isCurrent(cached.agent)) return cached
    const refreshedAt = this.#refreshedAt.get(did) ?? Number.NEGATIVE_INFINITY
    if (now() - refreshedAt < REFRESH_MS) return cached
    this.#refreshedAt.set(did, now())
    return null
  }

  async #directoryKey({ signatureAgent, keyid }: KeyReference): Promise<SignerKey | MissingKey> {
    const { directories } = this.#options
    const directory = directories.find(signatureAgent)
    if (directory === null) return missing('untrusted-agent')
    const key = await directories.findKey({ signatureAgent, keyid })
    if (typeof key === 'string') return missing(key)
    const signer = { kind: 'directory', url: directory.url } as const
    return { key, signer, lookup: null, basis: null, derived: null }
  }
}

function stapleIn({ received }: ReceivedSignature, { naming }: TrustedIssuer): string | null {
  return fieldValue(received.fields, naming.tokenHeaders.status.toLowerCase())
}

function answered(agent: AgentData | null): LookupResult & { readonly kind: 'answered' } {
  return { kind: 'answered', agent }
}

/** The key by an answer of the service. */
function keyOf(
  lookup: LookupResult,
  { did, keyid }: { readonly did: string; readonly keyid: string },
  basis: Basis,
  derived: Outcome[] | null,
): SignerKey | MissingKey {
  const agent = lookup.kind === 'answered' ? lookup.agent : lookup.last?.agent
  if (agent?.key?.keyid === keyid) {
    return agentKey(did, agent.key.publicKey, { lookup, basis, derived })
  }
  return missing(lookup.kind === 'answered' ? 'unknown-key' : 'directory-unavailable')
}

function agentKey(
  did: string,
  publicKey: Uint8Array,
  { lookup, basis, derived }: Pick<SignerKey, 'lookup' | 'basis' | 'derived'>,
): SignerKey {
  // No status: the policy decides on it.
  const key = { publicKey, did, status: null }
  return { key, signer: { kind: 'named', did, proof: 'signature' }, lookup, basis, derived }
}

function missing(fault: RootFault, certificateFault: CertificateFault | null = null): MissingKey {
  return { fault, certificateFault }
}

const UNAVAILABLE = missing('directory-unavailable')
const INVALID = missing('unknown-key', 'certificate-invalid')
const REPLACED = missing('unknown-key', 'certificate-replaced')

/** The fault of a certificate that is the root of a chain. */
function asRoot({ fault, certificateFault }: MissingKey): MissingKey {
  if (certificateFault === null) return missing(fault)
  const isReplaced = certificateFault === 'certificate-replaced'
  return missing(isReplaced ? 'delegation-ended' : 'delegation-invalid', certificateFault)
}
