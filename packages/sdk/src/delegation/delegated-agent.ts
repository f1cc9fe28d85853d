import { approvalFor, type DelegateRequestInit } from '../approvals/approving-fetch.ts'
import { checkedSigner } from '../keys/checked-signer.ts'
import type { Signer } from '../keys/signer.ts'
import { namingOf } from '../naming.ts'
import type { NamingOptions } from '../options.ts'
import { atLeast } from '../settings.ts'
import { type AudienceOptions, audiencesOf } from '../signed-requests/audiences.ts'
import { RequestSigner } from '../signed-requests/request-signer.ts'
import { CarriedChain } from './carried-chain.ts'
import { type DelegateRequest, type SignedDelegation, signDelegation } from './sign-delegation.ts'

/** Options of a DelegatedAgent. */
export interface DelegatedAgentOptions {
  /**
   * The chain that `Agent.delegate` returned for the key, or a function that gets one from the agent: it is called before the first
   * request, before the chain expires, and once after a 401.
   */
  readonly chain: string | (() => Promise<string>)
  /** The key that was delegated to. */
  readonly signer: Signer
  /** The origins that it signs for, of those in the delegation, with what else their verifiers need. Default: all of them. */
  readonly audiences?: readonly (string | URL | AudienceOptions)[] | undefined
  /** The names of the deployment, such as `registry.naming`. Default: `svc`, `ServiceID`. */
  readonly naming?: NamingOptions | undefined
  /** As for an Agent. Default: 60,000. */
  readonly maxRetryAfterMs?: number | undefined
  /** The clock of signatures, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/**
 * A worker of an agent with a key of its own, to which the agent has delegated. It has no DID and no certificate: sites see the agent
 * and the key. It cannot sign in, answer challenges, or act at the service.
 */
export class DelegatedAgent {
  readonly #chain: CarriedChain
  readonly #signer: Signer
  readonly #now: () => number
  readonly #options: DelegatedAgentOptions
  #requests: { readonly of: string; readonly signer: RequestSigner } | null = null

  /** @throws CountersignError INVALID_ARGUMENT if the chain is none; UNUSABLE_KEY if it is for another key */
  constructor(options: DelegatedAgentOptions) {
    const { chain, signer, naming, now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#signer = checkedSigner(signer)
    this.#chain = new CarriedChain(chain, namingOf(naming), this.#signer.publicKey, now)
    audiencesOf(options.audiences ?? [])
  }

  /** The agent's DID; null before a function has returned the first chain. */
  get did(): string | null {
    return this.#chain.held?.root.did ?? null
  }

  /** When the delegation ends: ISO 8601, UTC; null before a function has returned the first chain. */
  get expiresAt(): string | null {
    const held = this.#chain.held
    return held === null ? null : new Date(held.expiresAt).toISOString()
  }

  /**
   * Signs a request as `Agent.sign`, with the chain and the agent's DID.
   * @throws CountersignError OUTSIDE_DELEGATION, WRONG_AUDIENCE; INVALID_ARGUMENT if it is signed already or its body is too large
   */
  async sign(input: string | URL | Request, init?: RequestInit): Promise<Request> {
    return (await this.#signerOfRequests()).sign(input, init)
  }

  /**
   * `fetch` that signs each request as `sign` does, and each redirect within the origin. After a 401 it asks the function for another chain and
   * sends the request once more; it never signs in. After a 503 it does what `Agent.fetch` does. It is bound to this object.
   * @param init with `approval`, the token of an approval that the agent has asked for
   * @throws CountersignError OUTSIDE_DELEGATION, WRONG_AUDIENCE, REDIRECT, APPROVAL_UNCHECKED
   */
  readonly fetch = async (
    input: string | URL | Request,
    init?: DelegateRequestInit,
  ): Promise<Response> =>
    (await this.#signerOfRequests()).fetch(input, init, approvalFor(init?.approval, null))

  /**
   * Delegates to a further key, if the chain allows it: no more than this delegate may do, and for no longer.
   * @throws CountersignError DELEGATION_NOT_ALLOWED, INVALID_ARGUMENT
   */
  async delegate(request: DelegateRequest): Promise<SignedDelegation> {
    const { text: before, hops, expiresAt } = await this.#chain.current()
    const { limits, maxDepth } = hops[hops.length - 1] as (typeof hops)[number]
    const source = { before, limits, maxDepth, expiresAt, signer: this.#signer }
    return signDelegation(source, request, this.#now())
  }

  /** A new one if a function has returned a chain of another agent, service or origin. */
  async #signerOfRequests(): Promise<RequestSigner> {
    const { root, issuer, hops } = await this.#chain.current()
    const origins = hops.at(-1)?.limits.origins ?? []
    const of = JSON.stringify([root.did, issuer, origins])
    if (this.#requests?.of === of) return this.#requests.signer
    const { audiences = origins, maxRetryAfterMs = 60_000, naming } = this.#options
    const signer = new RequestSigner({
      naming: namingOf(naming),
      audiences: audiencesOf(audiences),
      unlisted: 'refuse',
      maxRetryAfterMs: atLeast(0, maxRetryAfterMs, 'maxRetryAfterMs'),
      issuer,
      tokens: this.#chain,
      now: this.#now,
      signer: () => this.#signer,
      did: async () => root.did,
      answer: null,
      assertAllowed: (each) => this.#chain.assertAllowed(each),
    })
    this.#requests = { of, signer }
    return signer
  }
}
