import type { AgentStatus, Grade } from '@countersign/sdk'
import type { Level, Mode } from '../policy/policy.ts'
import type { Reason } from './reasons.ts'

/** What a policy makes of a request: let in; let in, marked; let in within a limit; refuse. */
export type Action = 'allow' | 'flag' | 'limit' | 'deny'

/** What a service says of an agent, as far as decisions go by it. */
export interface Facts {
  readonly did: string
  readonly status: AgentStatus
  /** The certificate is active. Not: that the caller is this agent. */
  readonly verified: boolean
  /** The provider by which the owner is verified, null where they are not. */
  readonly identityMethod: string | null
  /** Null where the policy does not ask for it. */
  readonly grade: Grade | null
}

/** How a request is refused, or would be in shadow mode. */
export interface Refusal {
  readonly status: 401 | 403 | 429 | 503
  readonly code: 'UNAUTHENTICATED' | 'FORBIDDEN' | 'RATE_LIMITED' | 'UNAVAILABLE'
  readonly retryAfterSeconds: number | null
}

/**
 * What was decided, and why. Frozen, and the same object for many requests.
 *
 * Mind `proofOfPossession`: while it is false, all of this is about the agent whose name the caller has given.
 */
export interface Decision {
  /** What the policy says. In shadow mode: what it would do. */
  readonly action: Action
  /** Whether the request goes on: always in shadow mode, else unless `action` is `deny`. */
  readonly admitted: boolean
  readonly mode: Mode
  /** Null where something else decided before it came to that. */
  readonly level: Level | null
  /** The first is the one that decided. */
  readonly reasons: readonly [Reason, ...Reason[]]
  readonly refusal: Refusal | null
  /** The agent that the request names, null where it names none that can be read. */
  readonly did: string | null
  /** Of the certificate; null where there is none, or it is not known. */
  readonly status: AgentStatus | null
  /** The service says that the certificate is active. Not: that the caller is this agent. */
  readonly verified: boolean
  /** The owner's identity provider, or `unverified`; null where there is no agent, or it is not known. */
  readonly identityLevel: string | null
  /** Null where it is not known: it is asked for where a policy has a `minimumGrade`. */
  readonly grade: Grade | null
  /** Where that is from: the service now, what it said a moment ago, or what it said before it was out of reach. */
  readonly source: 'service' | 'cache' | 'stale' | null
  /**
   * Whether the caller has proved that it holds the agent's key: by a session of this site (`agentSignIn` of the SDK).
   * The identification header never does.
   */
  readonly proofOfPossession: boolean
}
