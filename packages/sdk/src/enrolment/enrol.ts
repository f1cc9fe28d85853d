import {
  BASE58_CLASS,
  encodeBase64,
  enrolmentEndMessage,
  enrolmentMessage,
  isPlatformToken,
  keyThumbprint,
  MAX_PLATFORM_TOKEN_LENGTH,
  type Naming,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { isTransient, type MayRetry } from '../http/retry.ts'
import type { ServiceClient } from '../http/service-client.ts'
import { checkedSigner } from '../keys/checked-signer.ts'
import type { Signer } from '../keys/signer.ts'
import { namingOf } from '../naming.ts'
import type { CallOptions, NamingOptions, RegistryOptions } from '../options.ts'
import { clientOf, Registry } from '../registry.ts'
import { wireReader } from '../responses/read-schema.ts'
import * as schemas from '../responses/schemas.ts'
import type { EnrolmentEnded } from '../responses/types.ts'

/**
 * Gets a token from the platform of this workload: `githubActionsToken()`, `gcpToken()` or `tokenFile(path)` of
 * `@countersign/sdk/node`, or your own.
 * @param audience the audience to ask for: `<service>/enrol/<rule>/<thumbprint of the key>`. Nobody can use such a token with another key
 * @returns a JWT in compact form. A secret while it is valid
 */
export type PlatformTokenSource = (audience: string) => Promise<string>

/** Who enrols, where, and by which rule. */
export interface EnrolOptions
  extends Pick<RegistryOptions, 'timeoutMs' | 'attemptTimeoutMs' | 'retryBaseMs' | 'fetch'> {
  /** How many times a request is retried. Default: 2, and 8 more if the service asks to wait, as it does if a fleet starts at once. */
  readonly retries?: number | undefined
  /** The service, such as `https://id.example`: its `BASE_URL`, which is in the audience. Only it gets the token. */
  readonly service: string | URL
  /** The id of the enrolment rule, from its owner: `er_` and 22 base58 characters. */
  readonly rule: string
  /** Called for each enrolment. */
  readonly token: PlatformTokenSource
  /** The key of the workload. The DID follows the key: with a new key, the workload gets a new DID. */
  readonly signer: Signer
  /** The names that the deployment uses. Default: what the service itself reports. */
  readonly naming?: NamingOptions | undefined
  /** The clock of signatures and renewals, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** The agent of a workload that has enrolled. */
export interface Enrolment {
  readonly did: string
  /** The label of the agent, which the rule gives it. */
  readonly agentId: string
  /** Whether the agent existed before; false: it is new. */
  readonly renewed: boolean
  /** When to enrol again. ISO 8601, UTC. */
  readonly renewAfter: string
  /** When the agent is revoked, unless the workload enrols again. ISO 8601, UTC. */
  readonly endsAt: string
  /**
   * Ends the agent, at once and for good; the workload can enrol again with a new key. Ending it again does no harm.
   * @throws CountersignError INVALID_SIGNATURE; NOT_FOUND; and the errors of every call
   */
  end(options?: Pick<CallOptions, 'signal'>): Promise<EnrolmentEnded>
}

/**
 * Enrols a workload: the service certifies its key by the token that its platform gives it. The same call renews the agent, so a
 * retry is harmless. Call it again after `renewAfter`, or use `keepEnrolled`.
 *
 * The token is sent to the service only, never along a redirect, and no error repeats it.
 * @throws CountersignError FORBIDDEN if the rule does not admit the token; CONFLICT if another key has used it, or no seat is left;
 *   AGENT_NOT_ACTIVE, KEY_ALREADY_CLAIMED, IDENTITY_REQUIRED, NOT_FOUND, TOKEN_EXPIRED, NO_PLATFORM_TOKEN, INVALID_ARGUMENT
 */
export async function enrol(
  options: EnrolOptions,
  { signal }: Pick<CallOptions, 'signal'> = {},
): Promise<Enrolment> {
  return new Workload(options).enrol(signal)
}

/** The default of all requests. */
const RETRIES = 2
/** The service admits at least 64 at once and asks the others to wait. So a fleet of some hundred needs several rounds. */
const PATIENT_RETRIES = 10

const RULE_PATTERN = new RegExp(`^er_${BASE58_CLASS}{22}$`)

/** A workload with its key, which enrols once or again and again. Not exported by the package. */
export class Workload {
  readonly #options: EnrolOptions
  readonly #signer: Signer
  readonly #now: () => number
  #registry: Promise<Registry> | null = null

  /** @throws CountersignError INVALID_ARGUMENT, UNUSABLE_KEY */
  constructor(options: EnrolOptions) {
    if (!RULE_PATTERN.test(options.rule)) {
      throw new CountersignError(
        'INVALID_ARGUMENT',
        'The id of an enrolment rule is er_ and 22 base58 characters. Its owner finds it on the dashboard.',
      )
    }
    this.#options = options
    this.#signer = checkedSigner(options.signer)
    this.#now = options.now ?? Date.now
  }

  /** Described at `enrol`. */
  async enrol(signal?: AbortSignal): Promise<Enrolment> {
    const registry = await this.#connect()
    const { service } = registry
    const { rule } = this.#options
    const { publicKey } = this.#signer
    const token = await this.#options.token(`${service}/enrol/${rule}/${keyThumbprint(publicKey)}`)
    assertToken(token)
    const naming = namingOf(registry.naming)
    const issuedAt = this.#issuedAt()
    const signed = { service, rule, token, publicKey, issuedAt }
    const signature = await this.#sign(enrolmentMessage(naming, signed))
    const body = { rule, token, publicKey: encodeBase64(publicKey), issuedAt, signature }
    const request = { path: '/api/v1/enrol', body, alsoOk: [201] }
    const client = clientOf(this.#patient(registry)) as ServiceClient
    try {
      const read = wireReader(schemas.ENROLLED, naming)
      const enrolled = await client.send(request, read, this.#mayRetry(), signal)
      const { did, agentId, renewed, renewAfter, endsAt } = enrolled
      const end: Enrolment['end'] = (options = {}) => this.#end(client, naming, did, options)
      return { did, agentId, renewed, renewAfter, endsAt, end }
    } catch (error) {
      throw withoutToken(error as CountersignError, token)
    }
  }

  async #end(
    client: ServiceClient,
    naming: Naming,
    did: string,
    { signal }: Pick<CallOptions, 'signal'>,
  ): Promise<EnrolmentEnded> {
    const service = client.service.origin
    const issuedAt = this.#issuedAt()
    const signed = { service, did, publicKey: this.#signer.publicKey, issuedAt }
    const signature = await this.#sign(enrolmentEndMessage(naming, signed))
    const path = `/api/v1/agent/${did}/enrolment/end`
    const read = wireReader(schemas.ENROLMENT_ENDED, naming)
    return client.send({ path, body: { issuedAt, signature } }, read, this.#mayRetry(), signal)
  }

  /** Asks the service for its names once, or again after a failure. */
  async #connect(): Promise<Registry> {
    const { service, naming, now: _clock, ...options } = this.#options
    if (naming !== undefined) return new Registry(service, { ...options, naming })
    this.#registry ??= Registry.discover(service, options)
    try {
      return await this.#registry
    } catch (error) {
      this.#registry = null
      throw error
    }
  }

  /** The same service, asked more often. */
  #patient({ service, naming }: Registry): Registry {
    const { now: _clock, naming: _given, ...options } = this.#options
    const { retries = PATIENT_RETRIES } = options
    return new Registry(service, { ...options, naming, retries })
  }

  /** Failures without a time to wait count, as for every request. */
  #mayRetry(): MayRetry {
    let left = this.#options.retries ?? RETRIES
    return (error) => isTransient(error) && (error.retryAfterMs !== null || left-- > 0)
  }

  #issuedAt(): number {
    return Math.floor(this.#now() / 1000)
  }

  async #sign(message: Uint8Array): Promise<string> {
    return encodeBase64(await this.#signer.sign(message))
  }
}

/** Whatever else a source has read, such as a page or a private key, is not sent. @throws CountersignError NO_PLATFORM_TOKEN */
function assertToken(token: unknown): asserts token is string {
  if (typeof token === 'string' && isPlatformToken(token)) return
  throw new CountersignError(
    'NO_PLATFORM_TOKEN',
    `The platform gave no token: a JWT in compact form, of at most ${MAX_PLATFORM_TOKEN_LENGTH} characters, is needed.`,
  )
}

/** Something in front of the service may repeat in its response what was sent. */
function withoutToken(error: CountersignError, token: string): CountersignError {
  const { code, status, requestId, retryAfterMs, neverSent, cause } = error
  const texts = [error.message, (cause as Error | undefined)?.message]
  if (!texts.some((text) => text?.includes(token))) return error
  const details = {
    ...(status !== null && { status }),
    ...(requestId !== null && { requestId }),
    ...(retryAfterMs !== null && { retryAfterMs }),
    neverSent,
  }
  return new CountersignError(
    code,
    'The enrolment failed. The message of the response is left out, since it repeats the token.',
    details,
  )
}
