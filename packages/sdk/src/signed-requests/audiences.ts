import { isLoopback } from '@countersign/protocol'
import type {
  SignatureAgent,
  SignatureAgentDialect,
} from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import { originOf } from '../origin.ts'

/** A site whose verifier needs another form of `Signature-Agent` than the default one. */
export interface AudienceOptions {
  /** Such as `https://shop.example`. */
  readonly origin: string | URL
  /**
   * `ietf` (the default) and `ucp` send the address of the agent's key set; `legacy` (a bare string, as Cloudflare's verifier
   * reads it) and `origin` send an origin that publishes the key at `/.well-known/http-message-signatures-directory`.
   */
  readonly dialect?: Exclude<SignatureAgentDialect, 'cimd'> | undefined
  /**
   * Where the key is published. `legacy` and `origin` need it: an origin of the agent's own. Default otherwise: the agent's key
   * set at the service.
   */
  readonly signatureAgent?: string | URL | undefined
}

/** How requests to one origin are signed. */
export interface Audience {
  readonly dialect: SignatureAgentDialect
  /** Null: the agent's key set at the service. */
  readonly signatureAgent: string | null
}

/** The origins that an agent signs for. @throws CountersignError INVALID_ARGUMENT */
export function audiencesOf(
  list: readonly (string | URL | AudienceOptions)[],
): ReadonlyMap<string, Audience> {
  return new Map(list.map(audienceOf))
}

function audienceOf(each: string | URL | AudienceOptions): [origin: string, Audience] {
  const options = typeof each === 'string' || each instanceof URL ? { origin: each } : each
  const { origin, dialect = 'ietf', signatureAgent }: AudienceOptions = options
  const canonical = originOf(origin, 'An audience')
  const { protocol, hostname } = new URL(canonical)
  if (protocol !== 'https:' && !isLoopback(hostname)) {
    throw invalid(
      'An audience must be an https origin. Over plain http, a signed request can be replayed.',
    )
  }
  const needsOrigin = dialect === 'legacy' || dialect === 'origin'
  if (signatureAgent === undefined) {
    if (!needsOrigin) return [canonical, { dialect, signatureAgent: null }]
    throw invalid(
      `The dialect ${dialect} requires the option signatureAgent, the origin at which you publish the key.`,
    )
  }
  const url = String(signatureAgent)
  return [
    canonical,
    { dialect, signatureAgent: needsOrigin ? originOf(url, 'signatureAgent') : url },
  ]
}

/** @param keySet the address of the agent's key set at the service */
export function signatureAgentOf(
  { dialect, signatureAgent }: Audience,
  keySet: string,
): SignatureAgent {
  return { dialect, url: signatureAgent ?? keySet }
}

function invalid(message: string): CountersignError {
  return new CountersignError('INVALID_ARGUMENT', message)
}
