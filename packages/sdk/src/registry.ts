import { KEY_PROOF_MAX_BYTES, type Naming } from '@countersign/protocol'
import type { Static, TSchema } from 'typebox'
import { loadServiceTokens } from './certificates/load-service-tokens.ts'
import type { ServiceApprovalOptions, VerifiedApproval } from './certificates/verify-approval.ts'
import type {
  ServiceCertificateOptions,
  VerifiedCertificate,
} from './certificates/verify-certificate.ts'
import { changeKey, type KeyChange, signedBody } from './change-key.ts'
import { discoverNaming } from './discover-naming.ts'
import { isDisconnected, isTransient, wasNotProcessed } from './http/retry.ts'
import { DID_JSON, JWT, TEXT } from './http/send-request.ts'
import { ServiceClient } from './http/service-client.ts'
import type { SignedChallenge } from './keys/signed-challenge.ts'
import { namesOf, namingOf } from './naming.ts'
import type { AnswerOrigin, CallOptions, Names, RegistryOptions } from './options.ts'
import { redeemToken } from './redeem-token.ts'
import { about, answerToVerify, didInDidWeb, referenceTo, resolutionOf } from './reference.ts'
import type {
  ClaimRequest,
  DirectoryProofRequest,
  EndDelegationsRequest,
  KeyReport,
  RecoverRequest,
  RenounceRequest,
  RotateRequest,
  VerifyRequest,
  VetoRequest,
} from './registry-requests.ts'
import {
  type Read,
  readLogProof,
  readToken,
  type Shape,
  wireReader,
} from './responses/read-schema.ts'
import * as schemas from './responses/schemas.ts'
import type {
  AgentKeys,
  AgentObject,
  Card,
  Claimed,
  CompactCard,
  DelegationsEnded,
  DirectoryProof,
  GradeReport,
  Lookup,
  Recovering,
  Renounced,
  Resolution,
  Rotated,
  RuntimeChallenge,
  RuntimeProof,
  Verification,
  Vetoed,
} from './responses/types.ts'
import { clientSettings } from './settings.ts'

/** The `ServiceClient` of a Registry, for signed requests of its agents; `unknown` keeps it out of the published types. */
export let clientOf: (registry: Registry) => unknown

/**
 * A client of one service. Create one for each service and share it: it caches responses and sends one request for callers that ask for the
 * same thing at the same time. An agent is named by its DID, by the DID's 24-character tail, or by its public key. Every method throws
 * CountersignError: with the service's own code (`NOT_FOUND`, …), or `NETWORK`, `TIMEOUT`, `ABORTED`, `PROTOCOL`, `INVALID_ARGUMENT`.
 * Responses are checked against the contract and frozen.
 */
export class Registry {
  readonly #client: ServiceClient
  readonly #tokens: ReturnType<typeof loadServiceTokens>
  /** Null: any deployment. */
  readonly #naming: Naming | null

  static {
    clientOf = (registry) => registry.#client
  }

  /**
   * @param service its address, such as `https://id.example`
   * @throws CountersignError INVALID_ARGUMENT
   */
  constructor(service: string | URL, options: RegistryOptions = {}) {
    const settings = clientSettings(service, options)
    this.#client = new ServiceClient(settings)
    this.#tokens = loadServiceTokens(this.service, settings.fetch)
    this.#naming = options.naming === 'any' ? null : namingOf(options.naming)
  }

  /** Creates a Registry with the names that the service itself reports. */
  static async discover(service: string | URL, options: RegistryOptions = {}): Promise<Registry> {
    return new Registry(service, { ...options, naming: await discoverNaming(service, options) })
  }

  /** The address of the service, without a slash at its end. */
  get service(): string {
    return this.#client.service.origin
  }

  /**
   * The deployment's short name and identification header.
   * @throws CountersignError INVALID_ARGUMENT if the Registry accepts any deployment
   */
  get naming(): Names {
    return namesOf(this.#naming)
  }

  /** An agent's certificate and its owner's identity level (contract 4.1). Base decisions on this call. */
  lookup(agent: string, options?: CallOptions): Promise<Lookup> {
    const reference = referenceTo(this.#naming, agent)
    const read = about(reference, this.#read(schemas.LOOKUP), ({ certificate }) => certificate.id)
    return this.#client.get({ path: `/api/v1/agent/${reference.segment}` }, read, options)
  }

  /** The full card (contract 4.5). The service lets it be up to 30 seconds old. */
  card(agent: string, options?: CallOptions): Promise<Card> {
    return this.#get(agent, '/card', this.#read(schemas.CARD), options)
  }

  /** The compact card (contract 4.6). It does not contain the DID. */
  compactCard(agent: string, options?: CallOptions): Promise<CompactCard> {
    const { segment } = referenceTo(this.#naming, agent)
    const path = `/api/v1/agent/${segment}/card`
    return this.#client.get({ path }, this.#read(schemas.COMPACT_CARD), options)
  }

  /** The agent object (contract 4.7): card, key, links. */
  agent(agent: string, options?: CallOptions): Promise<AgentObject> {
    return this.#get(agent, '', this.#read(schemas.AGENT_OBJECT), options)
  }

  /** The grade with its evidence and the next step up. `recomputeGrade` checks it. */
  grade(agent: string, options?: CallOptions): Promise<GradeReport> {
    return this.#get(agent, '/grade', this.#read(schemas.GRADE_REPORT), options)
  }

  /**
   * The signed certificate of an active agent (docs/certificates.md), which `verifyCertificate` verifies without a question to the
   * service. Valid for 24 hours.
   * @throws CountersignError AGENT_NOT_ACTIVE
   */
  certificate(agent: string, options?: CallOptions): Promise<string> {
    return this.#token(agent, 'certificate', options)
  }

  /** The signed status of an agent, valid for 15 minutes (`verifyStaple`). */
  staple(agent: string, options?: CallOptions): Promise<string> {
    return this.#token(agent, 'staple', options)
  }

  /**
   * Verifies a certificate of this service that somebody has sent. Certificates are public: one proves nothing about who sends it.
   * @throws CountersignError INVALID_TOKEN, CERTIFICATE_REVOKED, CERTIFICATE_SUSPENDED; ISSUER_UNAVAILABLE; INVALID_ARGUMENT
   */
  async verifyCertificate(
    token: string,
    options?: ServiceCertificateOptions,
  ): Promise<VerifiedCertificate> {
    return (await this.#tokens()).verifyCertificate(token, options)
  }

  /**
   * Verifies the token of an approval by the owner of an agent of this service. It may have expired: `verifyRequest` compares all of it.
   * @throws CountersignError INVALID_TOKEN; ISSUER_UNAVAILABLE; INVALID_ARGUMENT
   */
  async verifyApproval(token: string, options?: ServiceApprovalOptions): Promise<VerifiedApproval> {
    return (await this.#tokens()).verifyApproval(token, options)
  }

  async #token(agent: string, kind: string, options: CallOptions | undefined): Promise<string> {
    const { segment } = referenceTo(this.#naming, agent)
    const request = { path: `/api/v1/agent/${segment}/${kind}`, accept: JWT }
    return (await this.#client.get(request, readToken, options)).token
  }

  /**
   * The proof that the current key of an agent is in the transparency log: text (C2SP tlog-proof, docs/transparency.md) of at most
   * 64 KiB, which `verifyKeyProof` verifies. Not cached.
   * @param did a DID or its 24-character tail
   * @throws CountersignError NOT_FOUND; UNAVAILABLE, not retried, if the key is not yet under a checkpoint or the log is halted
   */
  async logProof(did: string, { signal }: Pick<CallOptions, 'signal'> = {}): Promise<string> {
    const { segment } = referenceTo(this.#naming, did)
    const request = { path: `/log/proof/${segment}`, accept: TEXT, maxBytes: KEY_PROOF_MAX_BYTES }
    return (await this.#client.send(request, readLogProof, isDisconnected, signal)).proof
  }

  /** The DID document (contract 4.7). That of a revoked agent contains no key, that of a suspended one no `authentication`. */
  async resolve(agent: string, options?: CallOptions): Promise<Resolution> {
    const reference = referenceTo(this.#naming, agent)
    const request = { path: `/api/agents/${reference.segment}`, accept: DID_JSON, alsoOk: [410] }
    const read = about(reference, this.#read(schemas.DID_DOCUMENT), didInDidWeb)
    return resolutionOf(await this.#client.get(request, read, options))
  }

  /**
   * Asks the service whether an agent holds its key (contract 4.3): pass the result of `Agent.answer` to a challenge that you issued and
   * accept once. `createChallenges` does all of that. Decide by `verified`.
   * @throws CountersignError INVALID_SIGNATURE; NOT_FOUND if the key has no certificate
   */
  async verify(
    request: VerifyRequest,
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): Promise<Verification> {
    const body = answerToVerify(this.#naming, request)
    const reference = referenceTo(this.#naming, request.did ?? request.publicKey)
    const read = about(reference, this.#read(schemas.VERIFICATION), ({ agent }) => agent.did)
    return this.#client.send({ path: '/api/v1/agent/verify', body }, read, isTransient, signal)
  }

  /**
   * Redeems a claim token, or returns the certificate that the key has already under this label, from the same owner (contract 4.4).
   * @throws CountersignError OUTCOME_UNKNOWN if the claim was sent without a response: `agent(publicKey)` finds out
   */
  redeem(request: ClaimRequest, options: Pick<CallOptions, 'signal'> = {}): Promise<Claimed> {
    return redeemToken(this.#client, this.#naming, request, options.signal)
  }

  /** A challenge with which an agent proves that it is running, to the service itself. @throws CountersignError NOT_FOUND */
  runtimeChallenge(
    agent: string,
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): Promise<RuntimeChallenge> {
    const { segment } = referenceTo(this.#naming, agent)
    const request = { path: `/api/agents/${segment}/runtime/challenge`, body: {} }
    return this.#client.send(request, this.#read(schemas.RUNTIME_CHALLENGE), isTransient, signal)
  }

  /**
   * Sends the answer to a runtime challenge: the channel counts for 30 more days. Sign it only if its audience is this service.
   * @throws CountersignError INVALID_SIGNATURE; NOT_FOUND if the owner has added no runtime channel
   */
  proveRuntime(
    agent: string,
    { challenge, signature }: Pick<SignedChallenge, 'challenge' | 'signature'>,
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): Promise<RuntimeProof> {
    const reference = referenceTo(this.#naming, agent)
    const body = { challenge, signature }
    const request = { path: `/api/agents/${reference.segment}/runtime`, body }
    const read = about(reference, this.#read(schemas.RUNTIME_PROOF), ({ did }) => did)
    return this.#client.send(request, read, isTransient, signal)
  }

  /**
   * Gives up the certificate of an agent with a signature by its own key: it is suspended at once, and revoked after 72 hours unless
   * its owner stops that. Sending it again does no harm.
   * @param did a DID or its 24-character tail
   * @throws CountersignError INVALID_SIGNATURE, NOT_FOUND; CONFLICT if the key has changed; FORBIDDEN if it was reported
   */
  renounce(
    did: string,
    request: RenounceRequest,
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<Renounced> {
    const change = { path: 'renounce', body: signedBody(request), mayRetry: isTransient }
    return this.#changeKey(did, change, this.#read(schemas.RENOUNCED), options)
  }

  /**
   * Ends all delegations of an agent, with a signature by its own key. Sending it again ends those that were made since, too.
   * @param did a DID or its 24-character tail
   * @throws CountersignError INVALID_SIGNATURE, NOT_FOUND; CONFLICT if the key has changed; AGENT_NOT_ACTIVE; RATE_LIMITED
   */
  endDelegations(
    did: string,
    request: EndDelegationsRequest,
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<DelegationsEnded> {
    const body = signedBody(request)
    const change = { path: 'delegation/end', body, mayRetry: isTransient }
    return this.#changeKey(did, change, this.#read(schemas.DELEGATIONS_ENDED), options)
  }

  /** The keys of an agent, former and current, and its pending recovery. */
  keys(agent: string, options?: CallOptions): Promise<AgentKeys> {
    const reference = referenceTo(this.#naming, agent)
    const read = about(reference, this.#read(schemas.AGENT_KEYS), ({ did }) => did)
    return this.#client.get({ path: `/api/v1/agent/${reference.segment}/keys` }, read, options)
  }

  /**
   * Replaces the key of an agent with signatures by both keys. Sending it again does no harm.
   * @param did a DID or its 24-character tail
   * @throws CountersignError INVALID_SIGNATURE, NOT_FOUND; CONFLICT if the key has changed; AGENT_NOT_ACTIVE; KEY_ALREADY_CLAIMED
   */
  rotateKey(
    did: string,
    { newPublicKey, sequence, issuedAt, oldSignature, newSignature }: RotateRequest,
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<Rotated> {
    const body = { newPublicKey, sequence, issuedAt, oldSignature, newSignature }
    const change = { path: 'keys', body, mayRetry: isTransient }
    return this.#changeKey(did, change, this.#read(schemas.ROTATED), options)
  }

  /**
   * Redeems a recovery token with a new key. Sending it again does no harm.
   * @param did a DID or its 24-character tail
   * @throws CountersignError NOT_FOUND, TOKEN_EXPIRED, INVALID_SIGNATURE; CONFLICT if the key has changed; KEY_ALREADY_CLAIMED
   */
  recover(
    did: string,
    { recoveryToken, publicKey, sequence, issuedAt, signature }: RecoverRequest,
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<Recovering> {
    const body = { recoveryToken, publicKey, sequence, issuedAt, signature }
    const change = { path: 'recover', body, mayRetry: isTransient }
    return this.#changeKey(did, change, this.#read(schemas.RECOVERING), options)
  }

  /**
   * Ends the recovery of an agent whose key is not lost. It retries only if the veto was certainly not processed.
   * @param did a DID or its 24-character tail
   * @throws CountersignError INVALID_SIGNATURE, NOT_FOUND; CONFLICT if no recovery can be vetoed; FORBIDDEN if the key was reported
   */
  vetoRecovery(
    did: string,
    request: VetoRequest,
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<Vetoed> {
    const change = { path: 'recovery/veto', body: signedBody(request), mayRetry: wasNotProcessed }
    return this.#changeKey(did, change, this.#read(schemas.VETOED), options)
  }

  /**
   * Reports a key of an agent as compromised, with a signature by that key: nobody can use it any more. Sending it again does no harm.
   * @param did a DID or its 24-character tail
   * @throws CountersignError INVALID_SIGNATURE; NOT_FOUND if there is no such agent or key
   */
  reportKey(
    did: string,
    request: KeyReport,
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<AgentKeys> {
    const change = { path: 'keys/compromised', body: signedBody(request), mayRetry: isTransient }
    return this.#changeKey(did, change, this.#read(schemas.AGENT_KEYS), options)
  }

  #changeKey<T extends { readonly did: string }>(
    did: string,
    change: KeyChange,
    read: Read<T>,
    options: Pick<CallOptions, 'signal'>,
  ): Promise<T> {
    return changeKey(this.#client, referenceTo(this.#naming, did), change, read, options)
  }

  /**
   * Uploads the signature of an agent over its own key set. Sending the same one again does no harm.
   * @param did a DID or its 24-character tail
   * @throws CountersignError INVALID_SIGNATURE, NOT_FOUND; CONFLICT if the agent is not active, or a newer signature is stored
   */
  proveDirectory(
    did: string,
    { signatureInput, signature }: DirectoryProofRequest,
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): Promise<DirectoryProof> {
    const reference = referenceTo(this.#naming, did)
    const path = `/api/v1/agent/${reference.segment}/directory-proof`
    const request = { path, method: 'PUT', body: { signatureInput, signature } } as const
    const read = about(reference, this.#read(schemas.DIRECTORY_PROOF), (proof) => proof.did)
    return this.#client.send(request, read, isTransient, signal)
  }

  /**
   * When the service last sent or confirmed a response, and whether it has been unreachable since (`staleIfErrorMs`).
   * Null for objects that are not responses of this Registry's reading calls.
   */
  originOf(answer: object): AnswerOrigin | null {
    return this.#client.originOf(answer)
  }

  /**
   * The JSON of a response as the service sent it, with fields that this release does not know.
   * Null without the option `keepRaw`, and for objects that are not responses of this Registry.
   */
  rawOf(answer: object): unknown {
    return this.#client.rawOf(answer)
  }

  /** A reader of responses of this deployment. */
  #read<S extends TSchema>(schema: S): Read<Shape<Static<S>>> {
    return wireReader(schema, this.#naming)
  }

  #get<T extends { readonly did: string }>(
    agent: string,
    path: string,
    reader: Read<T>,
    options: CallOptions | undefined,
  ): Promise<T> {
    const reference = referenceTo(this.#naming, agent)
    const read = about(reference, reader, ({ did }) => did)
    return this.#client.get({ path: `/api/agents/${reference.segment}${path}` }, read, options)
  }
}
