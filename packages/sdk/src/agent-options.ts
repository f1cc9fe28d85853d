import { CountersignError } from './errors.ts'
import type { SignedChallenge } from './keys/signed-challenge.ts'
import type { Signer } from './keys/signer.ts'
import type { Registry } from './registry.ts'
import type { AudienceOptions } from './signed-requests/audiences.ts'

/** Options of an Agent. */
export interface AgentOptions {
  /** The service that certifies it. */
  readonly registry: Registry
  /** `newKey()`, `keyFromPem`, `keyFromJwk`, `keyFromText`, `keyFromFile` of `@countersign/sdk/node`, or your own. */
  readonly signer: Signer
  /** Its DID, if it is known; `claim` and `whoami` find it out. */
  readonly did?: string | undefined
  /**
   * The origins that `fetch` and `sign` sign requests for, such as `https://shop.example`; https, on loopback also http. Default: none.
   * Every recipient of a signature can use it as proof, so never take an origin from the text of a site or a model.
   */
  readonly audiences?: readonly (string | URL | AudienceOptions)[] | undefined
  /**
   * What `fetch` does with a request to an origin that is none of `audiences`: `refuse` throws WRONG_AUDIENCE; `plain` sends it without a
   * signature and the identification header. Default: `refuse`.
   */
  readonly unlisted?: 'refuse' | 'plain' | undefined
  /**
   * How long `fetch` waits at most, in milliseconds, before it signs a request again that a site could not judge yet (503 with
   * `Accept-Signature` and `Retry-After`). If the site asks for more, `fetch` returns the 503. 0: never wait. Default: 60,000.
   */
  readonly maxRetryAfterMs?: number | undefined
  /** The public address of the service (its `BASE_URL`), if the Registry uses an internal one. Default: that of the Registry. */
  readonly issuer?: string | URL | undefined
  /**
   * Whether signed requests carry the agent's certificate and its staple, so that sites can decide without a question to the service.
   * Default: false.
   */
  readonly certificates?: boolean | undefined
  /** The clock of signatures, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** For callers without types. @throws CountersignError INVALID_ARGUMENT */
export function assertAgentOptions(options: Partial<AgentOptions> | undefined): void {
  const { registry, signer } = options ?? {}
  // Checks for a method instead of the class: the application may have installed another copy of this package.
  if (typeof registry?.redeem !== 'function') {
    throw new CountersignError(
      'INVALID_ARGUMENT',
      "The option registry takes a Registry, not an address: registry: await Registry.discover('https://id.example').",
    )
  }
  if (typeof signer?.sign !== 'function') {
    throw new CountersignError(
      'INVALID_ARGUMENT',
      "The option signer takes a key: signer: await keyFromFile('agent.pem', { create: true }), of @countersign/sdk/node, or newKey().",
    )
  }
}

/** An agent's answer to a challenge, with its DID if that is known. */
export interface AgentAnswer extends SignedChallenge {
  readonly did?: string
}
