import type {
  NamingOptions,
  NonceStore,
  Registry,
  VerifiedApproval,
  VerifiedCertificate,
} from '@countersign/sdk'

/**
 * What a gateway uses of a `Registry`, of any copy of the SDK: the gateway's package contains one, and the site may have installed
 * another.
 */
export type RegistryClient = Pick<Registry, 'service' | 'naming' | 'lookup' | 'grade' | 'agent'> &
  Partial<LogClient & CertificateClient & ApprovalClient>

/** What a policy with `requireLogged` needs besides. */
export type LogClient = Pick<Registry, 'logProof'>

/** What chains of delegations need besides, unless their issuer is in the policy's `trust`: without it, they are refused. */
export interface CertificateClient {
  /** As `Registry.verifyCertificate`: it rejects with the same codes. */
  verifyCertificate(
    ...args: Parameters<Registry['verifyCertificate']>
  ): Promise<Pick<VerifiedCertificate, 'did'>>
}

/** What a policy with `approval` needs besides. */
export interface ApprovalClient {
  /** As `Registry.verifyApproval`: it rejects with the same codes. */
  verifyApproval(...args: Parameters<Registry['verifyApproval']>): Promise<VerifiedApproval>
}

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

/** Validates session tokens: `agentSignIn` of the SDK. A session counts as proof of possession. */
export interface SessionReader {
  /** @returns null if the token is not a valid session */
  session(token: string): Promise<AgentSessionData | null>
}

/** What a gateway reads of a session. */
export interface AgentSessionData {
  readonly did: string
  /**
   * The number of the key with which the agent signed in (`keySequence` of the agent object). The session of an agent with another
   * key is refused. Default: 1.
   */
  readonly keySequence?: number | undefined
  /** The origin that the session is for, if the gateway has several `audiences`. Default: all of them. */
  readonly audience?: string | undefined
}

/** What a gateway has besides deciding. */
export interface Closeable {
  /** Stops following the issuers of the policy's `trust`. Call it when the server ends: an open feed keeps the process alive. */
  close(): Promise<void>
}

/**
 * What the feed showed that its issuer would not send. `number`: a line is missing or comes twice; `position`: the lines are not those
 * that a head commits to; `epoch`: the service has lost events; `token`: a line or head does not verify; `expired`: the service no
 * longer knows the cursor; `snapshot`: the snapshot is older than what is known, or does not verify.
 */
export type FeedFault = 'number' | 'position' | 'epoch' | 'token' | 'expired' | 'snapshot'

/** Options of a gateway. */
export interface GatewayOptions {
  /** The service that certifies the agents: its URL, such as `https://id.example`, or a Registry. */
  readonly service: string | URL | RegistryClient
  /** Default: the policy suggested by the contract, in `enforce` mode (README.md). */
  readonly policy?: PolicyInput | undefined
  /** The deployment's short name and header name, if they differ from the defaults and `service` is a URL. */
  readonly naming?: NamingOptions | undefined
  /**
   * The origins at which agents reach the site, such as `https://shop.example`. With them, the signature of a request (RFC 9421)
   * counts as proof of possession of the agent's key. They never come from a request: another site could forward what was
   * signed for itself. Default: none, so that signatures prove nothing.
   */
  readonly audiences?: readonly (string | URL)[] | undefined
  /**
   * Fetches the key sets of the policy's `directories`, for sites whose requests leave through a proxy. Default: in Node, a fetch that
   * connects to public addresses alone; elsewhere the global one, for which only the URL can be checked.
   */
  readonly fetchDirectory?: typeof globalThis.fetch | undefined
  /** The public address of the service (its `BASE_URL`), if `service` is an internal one. */
  readonly issuer?: string | URL | undefined
  /**
   * The nonces that were used, shared by all processes that accept requests for these audiences. Default: the memory of this
   * process, which is for a site that is one process.
   */
  readonly nonces?: NonceStore | undefined
  /**
   * A proxy in front terminates TLS, and nobody else reaches this server, so requests count as https. Default: false, and what
   * the framework reports (in Express `trust proxy`, in Fastify `trustProxy`).
   */
  readonly tlsTerminated?: boolean | undefined
  /** Accepts sessions (`Authorization: Bearer …`) as proof of possession of the agent's key. */
  readonly sessions?: SessionReader | undefined
  /**
   * The sign-in endpoint of the site, which responses with status 401 name in `WWW-Authenticate`, so that agents sign in by
   * themselves: a path such as `/agent-sign-in`, or an address at one of `audiences`. It needs `sessions`. Default: none.
   */
  readonly signInUrl?: string | URL | undefined
  /** Time-out for requests to the service, in milliseconds. Default: 2,000. */
  readonly timeoutMs?: number | undefined
  /** Called with every decision, for logging. Errors that it throws are ignored. */
  readonly onDecision?: ((decision: Decision, request: DecidedRequest) => unknown) | undefined
  /**
   * Called when the status feed of a trusted issuer shows what the issuer would not send, for monitoring: somebody between you and the
   * issuer alters or withholds it, or the issuer has lost data. All lists are read again. Errors that it throws are ignored.
   */
  readonly onFeedFault?: ((fault: FeedFault, issuer: string) => unknown) | undefined
  /** The clock of signatures and certificates, in milliseconds since 1970. Default: `Date.now`. */
  readonly clock?: (() => number) | undefined
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined
}
