import type { NamingOptions, Registry } from '@countersign/sdk'

/** A `Registry` of any copy of the SDK: the gateway's package contains one, and the site may have installed another. */
export type RegistryClient = Pick<Registry, keyof Registry>

import type { Decision } from './decision/decision.ts'
import type { PolicyInput } from './policy/policy.ts'

/** The request that a decision was made for, as passed to `onDecision`. */
export interface DecidedRequest {
  readonly method: string
  /** Without the query, which can contain secrets. */
  readonly path: string
  /** The client's address as the framework reports it; null if it reports none. */
  readonly address: string | null
}

/** Validates session tokens: `agentSignIn` of the SDK. Only a session sets `proofOfPossession: true`. */
export interface SessionReader {
  /** @returns null if the token is not a valid session */
  session(token: string): Promise<{ readonly did: string } | null>
}

/** Options of a gateway. */
export interface GatewayOptions {
  /** The service that certifies the agents: its URL, such as `https://id.example`, or a Registry. */
  readonly service: string | URL | RegistryClient
  /** Default: the policy suggested by the contract, in `enforce` mode (README.md). */
  readonly policy?: PolicyInput | undefined
  /** The deployment's short name and header name, if they differ from the defaults and `service` is a URL. */
  readonly naming?: NamingOptions | undefined
  /** Accepts sessions (`Authorization: Bearer …`) as proof of possession of the agent's key. */
  readonly sessions?: SessionReader | undefined
  /** Time-out for requests to the service, in milliseconds. Default: 2,000. */
  readonly timeoutMs?: number | undefined
  /** Called with every decision, for logging. Errors that it throws are ignored. */
  readonly onDecision?: ((decision: Decision, request: DecidedRequest) => unknown) | undefined
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined
}
