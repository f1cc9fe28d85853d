import type { NamingOptions, Registry } from '@countersign/sdk'
import type { Decision } from './decision/decision.ts'
import type { PolicyInput } from './policy/policy.ts'

/** What a hook is told of a request besides the decision. */
export interface DecidedRequest {
  readonly method: string
  /** Without the query, which can hold secrets. */
  readonly path: string
  /** Of the client, as the framework has it; null where it has none. */
  readonly address: string | null
}

/** What reads sessions: the `agentSignIn` of the SDK, which is the one way to `proofOfPossession: true`. */
export interface SessionReader {
  /** @returns null where the token is no session that counts */
  session(token: string): Promise<{ readonly did: string } | null>
}

/** How a gateway is set up. */
export interface GatewayOptions {
  /** The service that knows the agents: its address, such as `https://id.example`, or a Registry. */
  readonly service: string | URL | Registry
  /** Default: the contract's suggested policy, enforced (README.md). */
  readonly policy?: PolicyInput | undefined
  /** What the deployment calls things, where that is not the usual and `service` is an address. */
  readonly naming?: NamingOptions | undefined
  /** Takes sessions (`Authorization: Bearer …`) as a proof that the caller holds the agent's key. */
  readonly sessions?: SessionReader | undefined
  /** How long an answer of the service may take, in milliseconds. Default: 2,000. */
  readonly timeoutMs?: number | undefined
  /** Is told every decision, for logs. What it throws is dropped. */
  readonly onDecision?: ((decision: Decision, request: DecidedRequest) => unknown) | undefined
  /** A clock that only goes forward, in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined
}
