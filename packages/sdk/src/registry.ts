import type { Naming } from '@countersign/protocol'
import { about, type Read } from './answers/fields.ts'
import {
  readAgentObject,
  readCard,
  readClaimed,
  readCompactCard,
  readDidDocument,
  readGradeReport,
  readLookup,
  readVerification,
} from './answers/read-answers.ts'
import type {
  AgentObject,
  Card,
  Claimed,
  CompactCard,
  GradeReport,
  Lookup,
  Resolution,
  Verification,
} from './answers/types.ts'
import type { AnswerOrigin, CallOptions } from './call-options.ts'
import { discoverNaming } from './discover-naming.ts'
import { CountersignError, type CountersignErrorCode } from './errors.ts'
import { abortedBy, isTransient, isUntouched } from './http/patience.ts'
import { ServiceClient } from './http/service-client.ts'
import { DID_JSON } from './http/transport.ts'
import { checkedAnswer, type SignedChallenge } from './keys/signed-challenge.ts'
import type { Names } from './names.ts'
import { namingOf } from './naming.ts'
import { referenceTo } from './reference.ts'
import type { RegistryOptions } from './registry-options.ts'
import { settingsOf } from './settings.ts'

/** What `Registry.verify` is given: the answer of an agent, and which of its DIDs it is about. */
export interface VerifyRequest extends SignedChallenge {
  /** Where one key has several DIDs. Default: the one that the service picks. */
  readonly did?: string | undefined
}

/** What redeems a claim token (contract 4.4); `Agent.claim` makes it. */
export interface ClaimRequest {
  readonly claimToken: string
  readonly agentId: string
  readonly publicKey: string
  readonly signature: string
}

/**
 * A service, and all that it says of agents. Keep one for a service: it holds the cache, and asks once for many callers.
 *
 * An agent is named by its DID, by the DID's 24-character tail, or by its public key. Every method throws a
 * CountersignError: with the service's own code (`NOT_FOUND`, …), or `NETWORK`, `TIMEOUT`, `ABORTED`, `PROTOCOL`,
 * `INVALID_ARGUMENT`. What it returns is checked, complete and frozen.
 */
export class Registry {
  readonly #client: ServiceClient
  readonly #naming: Naming

  /**
   * @param service its address, such as `https://id.example`
   * @throws CountersignError INVALID_ARGUMENT
   */
  constructor(service: string | URL, options: RegistryOptions = {}) {
    this.#client = new ServiceClient(settingsOf(service, options))
    this.#naming = namingOf(options.naming)
  }

  /** A Registry that knows the deployment's own names, because it has asked for them. */
  static async discover(service: string | URL, options: RegistryOptions = {}): Promise<Registry> {
    return new Registry(service, { ...options, naming: await discoverNaming(service, options) })
  }

  /** The address of the service, without a slash at its end. */
  get service(): string {
    return this.#client.service.origin
  }

  /** The deployment's short name and identification header. */
  get naming(): Names {
    const { shortName, idHeader } = this.#naming
    return { shortName, idHeader }
  }

  /** An agent's certificate and its owner's identity level (contract 4.1). The call to decide by. */
  lookup(agent: string, options?: CallOptions): Promise<Lookup> {
    return this.#about(
      agent,
      ['/api/v1/agent/', ''],
      readLookup,
      ({ certificate }) => certificate.id,
      options,
    )
  }

  /** The full card (contract 4.5). The service lets it be up to 30 seconds old. */
  card(agent: string, options?: CallOptions): Promise<Card> {
    return this.#about(agent, ['/api/agents/', '/card'], readCard, didOf, options)
  }

  /** The compact card (contract 4.6). It does not name the DID. */
  compactCard(agent: string, options?: CallOptions): Promise<CompactCard> {
    return this.#about(agent, ['/api/v1/agent/', '/card'], () => readCompactCard, null, options)
  }

  /** The agent object (contract 4.7): card, key, links. */
  agent(agent: string, options?: CallOptions): Promise<AgentObject> {
    return this.#about(agent, ['/api/agents/', ''], readAgentObject, didOf, options)
  }

  /** The grade with its evidence and the next step up. `recomputeGrade` computes the letter from it. */
  grade(agent: string, options?: CallOptions): Promise<GradeReport> {
    return this.#about(agent, ['/api/agents/', '/grade'], readGradeReport, didOf, options)
  }

  /** The DID document (contract 4.7). That of a revoked agent has no key in it. */
  async resolve(agent: string, options?: CallOptions): Promise<Resolution> {
    const { did, segment } = referenceTo(this.#naming, agent)
    const question = { path: `/api/agents/${segment}`, accept: DID_JSON, alsoOk: [410] }
    const read = about(readDidDocument, ({ id }) => did === null || id.endsWith(`:agent:${did}`))
    const document = await this.#client.get(question, read, options)
    return { document, revoked: document.verificationMethod.length === 0 }
  }

  /**
   * Has the service check that an agent holds its key (contract 4.3): the answer of `Agent.answer`, to a challenge that
   * you have made, keep and take once. `createChallenges` does all of that. Decide by `verified`.
   * @throws CountersignError INVALID_SIGNATURE; NOT_FOUND where the key has no certificate
   */
  async verify(
    request: VerifyRequest,
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): Promise<Verification> {
    const { publicKey, challenge, signature } = checkedAnswer(request)
    const did = request.did === undefined ? null : referenceTo(this.#naming, request.did).did
    const body = { publicKey, challenge, signature, ...(did && { [this.#naming.didField]: did }) }
    const read = about(
      readVerification(this.#naming),
      ({ agent }) => did === null || agent.did === did,
    )
    return this.#client.once({ path: '/api/v1/agent/verify', body }, read, isTransient, signal)
  }

  /**
   * Redeems a claim token (contract 4.4). It is tried again only where it is certain that it was not processed.
   * @throws CountersignError OUTCOME_UNKNOWN where it left and no answer came: `agent(publicKey)` tells
   */
  async redeem(
    { claimToken, agentId, publicKey, signature }: ClaimRequest,
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): Promise<Claimed> {
    if (signal?.aborted) throw abortedBy(signal)
    const body = { claimToken, agentId, publicKey, signature }
    const question = { path: '/api/v1/claim', body }
    try {
      return await this.#client.once(question, readClaimed(this.#naming), isUntouched, signal)
    } catch (error) {
      throw inDoubt(error as CountersignError)
    } finally {
      // What was kept of this key may be another answer now.
      this.#client.forgetAll()
    }
  }

  /**
   * Where an answer is from: when the service last said so, and whether it has been out of reach since
   * (`staleIfErrorMs`). Null for what is no answer to a reading call of this Registry.
   */
  originOf(answer: object): AnswerOrigin | null {
    return this.#client.originOf(answer)
  }

  #about<T extends object>(
    agent: string,
    [before, after]: readonly [string, string],
    reader: (naming: Naming) => Read<T>,
    subject: ((answer: T) => string) | null,
    options: CallOptions | undefined,
  ): Promise<T> {
    const { did, segment } = referenceTo(this.#naming, agent)
    const read = about(
      reader(this.#naming),
      (answer) => did === null || subject === null || subject(answer) === did,
    )
    return this.#client.get({ path: `${before}${segment}${after}` }, read, options)
  }
}

const didOf = ({ did }: { readonly did: string }) => did

/** After these, a claim may have gone through. */
const IN_DOUBT: readonly CountersignErrorCode[] = [
  'NETWORK',
  'TIMEOUT',
  'ABORTED',
  'PROTOCOL',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
]

function inDoubt(error: CountersignError): CountersignError {
  if (isUntouched(error) || !IN_DOUBT.includes(error.code)) return error
  return new CountersignError(
    'OUTCOME_UNKNOWN',
    `${error.message} Whether the claim went through is unknown: look the key up.`,
    { cause: error, ...(error.status !== null && { status: error.status }) },
  )
}
