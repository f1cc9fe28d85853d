import { BOUND_CHALLENGE, claimMessage, encodeBase64, type Naming } from '@countersign/protocol'
import { type AgentAnswer, type AgentOptions, assertAgentOptions } from './agent-options.ts'
import { type AgentRequestInit, approvalFor, askForApproval } from './approvals/approving-fetch.ts'
import type { ApprovalOptions, PendingApproval } from './approvals/request-approval.ts'
import { AgentTokens } from './certificates/agent-tokens.ts'
import { assertClaim, assertRecoveryToken } from './claim-arguments.ts'
import { certifiedSource } from './delegation/certified-source.ts'
import { endDelegations } from './delegation/end-delegations.ts'
import {
  type DelegateRequest,
  type SignedDelegation,
  signDelegation,
} from './delegation/sign-delegation.ts'
import { CountersignError } from './errors.ts'
import {
  endRequest,
  type KeyHolder,
  recoverRequest,
  reportRequest,
  rotateRequest,
} from './key-operations.ts'
import { answerTo } from './keys/answer-to.ts'
import { checkedSigner } from './keys/checked-signer.ts'
import { assertBoundTo, refuseForeignText } from './keys/refuse-foreign-text.ts'
import { signOwnDirectory } from './keys/sign-own-directory.ts'
import type { Signer } from './keys/signer.ts'
import { namingOf } from './naming.ts'
import type { CallOptions } from './options.ts'
import { originOf } from './origin.ts'
import { fullDid, OwnDid } from './own-did.ts'
import type { Registry } from './registry.ts'
import type { GrantRequest } from './registry-requests.ts'
import type {
  AgentKeys,
  AgentObject,
  Claimed,
  DelegationsEnded,
  DirectoryProof,
  Grant,
  Recovering,
  Renounced,
  Rotated,
  Vetoed,
} from './responses/types.ts'
import type { SignedCalls } from './service-signer.ts'
import { atLeast } from './settings.ts'
import type { AgentSession } from './sign-in.ts'
import { DelegationGroups, requestGrant } from './signed-calls.ts'
import { audiencesOf } from './signed-requests/audiences.ts'
import { RequestSigner } from './signed-requests/request-signer.ts'
import { requestToSign } from './signed-requests/signed-fetch.ts'

/** The key of an agent, for the tools. Not exported by the package: no method returns it. */
export let signerOf: (agent: Agent) => Signer

/**
 * An agent with its key. Every error is a CountersignError. No method returns the private key.
 */
export class Agent {
  /** The service that certifies it. */
  readonly registry: Registry
  /** The origins that it signs requests for. */
  readonly audiences: readonly string[]
  readonly #naming: Naming
  readonly #issuer: string
  readonly #now: () => number
  readonly #requests: RequestSigner
  readonly #calls: SignedCalls
  /** Groups of delegations, each of which ends without the others. */
  readonly delegationGroups: DelegationGroups
  #signer: Signer
  readonly #did: OwnDid

  static {
    signerOf = (agent) => agent.#signer
  }

  /** @throws CountersignError INVALID_ARGUMENT, UNUSABLE_KEY if the public key is not 32 bytes */
  constructor(options: AgentOptions) {
    assertAgentOptions(options)
    const { registry, signer, did, audiences = [], issuer = registry.service } = options
    this.registry = registry
    this.#signer = checkedSigner(signer)
    this.#naming = namingOf(registry.naming)
    this.#did = new OwnDid(() => this.whoami(), registry.service)
    if (did !== undefined) this.#did.known = fullDid(this.#naming, did)
    this.#issuer = originOf(issuer, 'The issuer')
    this.#now = options.now ?? Date.now
    const signedFor = audiencesOf(audiences)
    this.audiences = [...signedFor.keys()]
    this.#requests = new RequestSigner({
      naming: this.#naming,
      audiences: signedFor,
      unlisted: options.unlisted ?? 'refuse',
      maxRetryAfterMs: atLeast(0, options.maxRetryAfterMs ?? 60_000, 'maxRetryAfterMs'),
      issuer: this.#issuer,
      tokens: options.certificates ? new AgentTokens(registry, this.#naming, this.#now) : null,
      now: this.#now,
      signer: () => this.#signer,
      did: () => this.#did.find(),
      answer: (challenge, audience) => this.answer(challenge, { audience }),
    })
    const sign: SignedCalls['sign'] = (path, init) => this.#requests.signForService(path, init)
    this.#calls = { registry, did: () => this.#did.find(), sign }
    this.delegationGroups = new DelegationGroups(this.#calls)
  }

  /** 32 bytes in padded standard base64. */
  get publicKey(): string {
    return encodeBase64(this.#signer.publicKey)
  }

  /**
   * Continues with another key, after it has replaced the agent's key at the service.
   * @throws CountersignError UNUSABLE_KEY
   */
  useKey(signer: Signer): void {
    this.#signer = checkedSigner(signer)
    this.#requests.keyChanged()
  }

  /** The agent's DID; null until this object knows it: `claim`, `whoami` and the first signed request find it out. */
  get did(): string | null {
    return this.#did.known
  }

  /**
   * Redeems a claim token that the owner issued on the dashboard: the agent gets a certificate and a DID (contract 4.4). A
   * refused claim does not use up the token. If the key has a certificate under this label already, from the owner of the token,
   * it returns that one and changes nothing. This also holds for a token that is used up, so an agent can claim at each start.
   * @param token such as `svc-verify-` and 32 hexadecimal characters. A secret until it is used
   * @param agentId your label for this agent, 1 to 128 characters: one key can have several certificates
   * @throws CountersignError TOKEN_EXPIRED; KEY_ALREADY_CLAIMED if another owner has the key; NOT_FOUND; OUTCOME_UNKNOWN if the claim was sent
   *   without a response: `whoami` finds out
   */
  async claim(
    token: string,
    agentId = 'main',
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<Claimed> {
    assertClaim(this.#naming, token, agentId)
    const signature = await this.#sign(claimMessage(token, agentId))
    const request = { claimToken: token, agentId, publicKey: this.publicKey, signature }
    const claimed = await this.registry.redeem(request, options)
    this.#did.known = claimed.did
    return claimed
  }

  /**
   * The agent object of this agent, found by its DID or, if that is not known, by its key.
   * @throws CountersignError NOT_FOUND if the key has no certificate
   */
  async whoami(options?: CallOptions): Promise<AgentObject> {
    const self = await this.registry.agent(this.did ?? this.publicKey, {
      fresh: true,
      ...options,
    })
    this.#did.known ??= self.did
    return self
  }

  /**
   * Gives up the certificate of this agent, which cannot be undone with this key: it is suspended at once, and revoked after 72 hours.
   * Until then, the owner can recover it with a new key. Use it to leave an owner whose claim token was redeemed by mistake, and then
   * claim a new key.
   * @throws CountersignError NO_DID if this object does not know its DID; UNUSABLE_KEY if the DID has another key;
   *   FORBIDDEN if the key was reported as compromised
   */
  async renounce(options: Pick<CallOptions, 'signal'> = {}): Promise<Renounced> {
    const did = this.#did.require()
    const request = await endRequest(this.#holder(did), 'renounce', await this.whoami(options))
    return this.registry.renounce(did, request, options)
  }

  /**
   * Replaces the key of this agent, at once; this object continues with the new key. Store the new key before the call: if the
   * response is lost, call it again with the same key. `rotateKeyFile` of `@countersign/sdk/node` does both.
   * @throws CountersignError NO_DID if this object does not know its DID; UNUSABLE_KEY if the DID has another key;
   *   AGENT_NOT_ACTIVE; KEY_ALREADY_CLAIMED if the new key was used before
   */
  async rotateKey(newKey: Signer, options: Pick<CallOptions, 'signal'> = {}): Promise<Rotated> {
    const next = checkedSigner(newKey)
    const did = this.#did.require()
    const self = await this.whoami(options)
    // The response to an earlier call was lost.
    if (self.publicKey === encodeBase64(next.publicKey)) {
      this.useKey(next)
      return { did, keySequence: self.keySequence, keyChangedAt: self.keyChangedAt }
    }
    const request = await rotateRequest(this.#holder(did), next, self)
    const rotated = await this.registry.rotateKey(did, request, options)
    this.useKey(next)
    return rotated
  }

  /**
   * Redeems a recovery token that the owner issued, for the key of this object: it becomes the key of the DID at `effectiveAt`. Store
   * the key before the call. Calling it again does no harm.
   * @param token such as `svc-recover-` and 32 hexadecimal characters. A secret until it is used
   * @throws CountersignError NO_DID; NOT_FOUND or TOKEN_EXPIRED (token); KEY_ALREADY_CLAIMED if the key was used before
   */
  async recover(token: string, options: Pick<CallOptions, 'signal'> = {}): Promise<Recovering> {
    assertRecoveryToken(this.#naming, token)
    const self = await this.whoami(options)
    const did = this.#did.require()
    const request = await recoverRequest(this.#holder(did), token, self)
    return this.registry.recover(did, request, options)
  }

  /**
   * Ends a recovery that the owner started because they took the key of this agent for lost.
   * @throws CountersignError NO_DID; UNUSABLE_KEY if the DID has another key; CONFLICT if no recovery is pending; FORBIDDEN if the
   *   key was reported as compromised
   */
  async vetoRecovery(options: Pick<CallOptions, 'signal'> = {}): Promise<Vetoed> {
    const did = this.#did.require()
    const request = await endRequest(this.#holder(did), 'veto', await this.whoami(options))
    return this.registry.vetoRecovery(did, request, options)
  }

  /**
   * Reports the key of this object as compromised: it verifies nowhere any more, and agents that have it are suspended. Works for a
   * key that the DID has or had, whatever its status. This cannot be undone.
   * @throws CountersignError NO_DID if this object does not know its DID; UNUSABLE_KEY if the DID has never had this key
   */
  async reportKey(options: Pick<CallOptions, 'signal'> = {}): Promise<AgentKeys> {
    const did = this.#did.require()
    const request = await reportRequest(this.#holder(did), await this.keys(options))
    return this.registry.reportKey(did, request, options)
  }

  /**
   * The keys of this agent, former and current, and its pending recovery.
   * @throws CountersignError NOT_FOUND if the key has no certificate
   */
  keys(options?: CallOptions): Promise<AgentKeys> {
    return this.registry.keys(this.did ?? this.publicKey, { fresh: true, ...options })
  }

  /**
   * Signs the agent's key set at the service (`/agent/<tail>/jwks.json`), which the service then serves with that signature.
   * Verifiers that ask for signed key sets know that the holder of the key agreed to its publication there. Valid for 30 days and
   * for this key only. Call it again before it expires, and after a change of the key.
   * @throws CountersignError NO_DID; INVALID_SIGNATURE if the DID has another key, or `issuer` is not the `BASE_URL` of the
   *   service; CONFLICT if the agent is not active
   */
  async proveDirectory(options: Pick<CallOptions, 'signal'> = {}): Promise<DirectoryProof> {
    const did = this.#did.require()
    const proof = await signOwnDirectory(this.#signer, this.#issuer, this.#now())
    return this.registry.proveDirectory(did, proof, options)
  }

  /**
   * Gets a grant that an authorization server exchanges for an access token (RFC 7523). The request is signed for the origin of the
   * service, which need not be one of `audiences`. Send the grant to `tokenEndpoint` only.
   * @throws CountersignError VALIDATION_ERROR if the metadata of `audience` name another issuer or token endpoint. CONFLICT if the
   *   owner has assigned no grant issuer. INVALID_SIGNATURE if the DID has another key, or `issuer` is not the `BASE_URL` of the
   *   service. NO_DID if the key has no certificate; UNAVAILABLE if the metadata cannot be read; AGENT_NOT_ACTIVE; RATE_LIMITED
   */
  async grant(request: GrantRequest, options: Pick<CallOptions, 'signal'> = {}): Promise<Grant> {
    return requestGrant(this.#calls, request, options)
  }

  /**
   * Delegates to the key of a worker (`DelegatedAgent`): for these sites, methods and paths, and for a short time. Asks for a fresh
   * certificate; the delegation itself is signed here and registered nowhere. It ends when it expires, by `endDelegations`, with a change of
   * this agent's key, or when its certificate is replaced.
   * @param request with the `certificate` of a group (`delegationGroups`), it works offline and ends with that group, too
   * @throws CountersignError DELEGATION_NOT_ALLOWED if the owner has not allowed it; INVALID_ARGUMENT; NO_DID; AGENT_NOT_ACTIVE;
   *   UNUSABLE_KEY if the DID has another key
   */
  async delegate(
    request: DelegateRequest & { readonly certificate?: string | undefined },
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<SignedDelegation> {
    const did = await this.#did.find()
    const own = { ...options, certificate: request.certificate }
    const source = await certifiedSource(this.registry, did, this.#signer, own)
    return signDelegation(source, request, this.#now())
  }

  /**
   * Ends everything that this agent has delegated, at once; the agent itself goes on. Returns when the service has issued a certificate for new
   * delegations.
   * @throws CountersignError NO_DID; UNUSABLE_KEY if the DID has another key; AGENT_NOT_ACTIVE; CONFLICT; RATE_LIMITED; TIMEOUT if
   *   delegations have ended, but there is no new certificate yet
   */
  async endDelegations(options: Pick<CallOptions, 'signal'> = {}): Promise<DelegationsEnded> {
    const did = this.#did.require()
    const self = await this.whoami(options)
    const ended = await endDelegations(this.registry, this.#holder(did), self, options)
    this.#requests.certificateEnded()
    return ended
  }

  /**
   * Answers a challenge of the form `svc-challenge-v1:<audience>:<nonce>` if its audience is the site that this agent talks
   * to. Without this check, a site could relay the challenge of another site and sign in there as this agent.
   * @param audience the site that this agent connected to. Never take it from the challenge
   * @throws CountersignError LOOKS_LIKE_A_CLAIM, NOT_A_CHALLENGE, WRONG_AUDIENCE
   */
  async answer(challenge: string, { audience }: { audience: string | URL }): Promise<AgentAnswer> {
    assertBoundTo(this.#naming, challenge, originOf(audience, 'The audience'))
    return answerTo(this.#signer, challenge, this.did)
  }

  /**
   * Answers a challenge without an audience, as the contract allows (4.3). The site may be relaying the challenge of another one:
   * use this only if that does no harm. It signs neither challenges that name an audience, nor texts with control characters such
   * as line ends, nor what could be signed bytes of another protocol. Those are claims, JWS (the part before the first dot
   * decodes to a header), signature bases of HTTP requests, operations of the service, SSH signatures and DSSE envelopes.
   * @throws CountersignError LOOKS_LIKE_A_CLAIM; NOT_A_CHALLENGE if it is empty, over 8,192 bytes, not well-formed or of another protocol;
   *   WRONG_AUDIENCE if it names an audience: use `answer` for it
   */
  async answerUnbound(challenge: string): Promise<AgentAnswer> {
    refuseForeignText(challenge)
    if (BOUND_CHALLENGE.test(challenge)) {
      const message = 'This challenge names an audience. Use answer(), which checks it.'
      throw new CountersignError('WRONG_AUDIENCE', message)
    }
    return answerTo(this.#signer, challenge, this.did)
  }

  /**
   * The identification header (contract section 5): `{ ServiceID: 'svc:agent:…' }`. It is self-asserted and proves
   * nothing; `answer` and `signIn` do.
   * @throws CountersignError NO_DID
   */
  identification(): Record<string, string> {
    return { [this.#naming.idHeader]: this.#did.require() }
  }

  /**
   * Signs a request to one of the agent's `audiences`, with its identification header (RFC 9421, Web Bot Auth): method, address,
   * body and the headers that matter. The signature is valid for 60 seconds, once. Send the returned request unchanged. The first
   * call asks the service for the agent's DID if this object does not know it.
   * @returns the request to send. Its body, up to 10 MiB, is in memory; its `redirect` is `manual`
   * @throws CountersignError WRONG_AUDIENCE; NO_DID if the key has no certificate; INVALID_ARGUMENT if it is signed already or its body is too large
   */
  sign(input: string | URL | Request, init?: RequestInit): Promise<Request> {
    return this.#requests.sign(input, init)
  }

  /**
   * `fetch` that signs requests to the agent's `audiences` as `sign` does; a request to another origin throws WRONG_AUDIENCE,
   * unless `unlisted` is `plain`. It follows redirects within the origin, signs each of them, and fails on others. If the site
   * answers 401 to the first request after `useKey`, it signs and sends the request once more. So it does after a 503 that asks
   * for it: with the nonce of `Accept-Signature`, else after `Retry-After` (`maxRetryAfterMs`). Nothing was done then, so this
   * holds for every method. Bodies, also streams, are in memory. If the site names a sign-in endpoint at the same origin in
   * `WWW-Authenticate`, the agent signs in there. It sends the request once more, with the session instead of a signature.
   * Sessions are in memory, one for each audience, and are renewed in the same way. It is bound to this object.
   * @param init with `approval`: if the site requires an approval (403 `approval-required`), the owner is asked for one of this request,
   *   and it is sent once more after the decision
   * @throws CountersignError also APPROVAL_DENIED, APPROVAL_EXPIRED, APPROVALS_OFF, APPROVAL_UNCHECKED
   */
  readonly fetch = async (
    input: string | URL | Request,
    init?: AgentRequestInit,
  ): Promise<Response> =>
    this.#requests.fetch(input, init, approvalFor(init?.approval, this.#calls))

  /**
   * Asks the owner to approve exactly this request, which must not be changed afterwards: method, URL and JSON body. `fetch` with `approval`
   * does it when a site requires it.
   * @throws CountersignError APPROVALS_OFF if the owner does not allow it; VALIDATION_ERROR if nobody can approve such a request;
   *   AGENT_NOT_ACTIVE, RATE_LIMITED
   */
  async requestApproval(
    input: string | URL | Request,
    init?: RequestInit,
    options: ApprovalOptions = {},
  ): Promise<PendingApproval> {
    return askForApproval(this.#calls, requestToSign(input, init), options)
  }

  /**
   * Signs in at a site with a sign-in endpoint (docs/sessions.md): gets a challenge, answers it, gets a session. `fetch` uses the
   * session from then on if the site is one of the agent's audiences.
   * @param endpoint the site's sign-in endpoint, such as `https://shop.example/agent-sign-in`
   * @throws CountersignError WRONG_AUDIENCE if the site relays the challenge of another one; NOT_ADMITTED
   */
  signIn(endpoint: string | URL, options: Pick<CallOptions, 'signal'> = {}): Promise<AgentSession> {
    return this.#requests.signIn(endpoint, options)
  }

  #holder(did: string): KeyHolder {
    return {
      did,
      naming: this.#naming,
      service: this.#issuer,
      publicKey: this.#signer.publicKey,
      sign: (message) => this.#sign(message),
      issuedAt: Math.floor(this.#now() / 1000),
    }
  }

  async #sign(message: Uint8Array): Promise<string> {
    return encodeBase64(await this.#signer.sign(message))
  }
}
