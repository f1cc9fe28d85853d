import {
  agentKeySetUrl,
  encodeBase64Url,
  type Naming,
  StructuredFieldError,
  signRequest,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { retryAfterOf } from '../http/send-request.ts'
import type { SignedChallenge } from '../keys/signed-challenge.ts'
import type { Signer } from '../keys/signer.ts'
import type { CallOptions } from '../options.ts'
import { originOf } from '../origin.ts'
import { type AgentSession, signInAt } from '../sign-in.ts'
import { type Audience, audiencesOf, signatureAgentOf } from './audiences.ts'
import { bufferBody } from './buffered-body.ts'
import { signInUrlOf } from './sign-in-url.ts'
import { type CarriedApproval, requestToSign, signedFetch } from './signed-fetch.ts'
import { SiteSessions } from './site-sessions.ts'

/** Tokens that are sent with signed requests. */
interface CarriedTokens {
  /** The headers to send. @param publicKey of the signature: 32 bytes */
  headersFor(did: string, publicKey: Uint8Array): Promise<readonly [name: string, value: string][]>
  /** After a 401. @param sent the headers of that request. @returns whether it is worth to try again */
  renewAfterRefusal(sent: Headers): boolean
  forget(): void
}

/** The agent whose requests are signed. */
export interface SigningAgent {
  readonly naming: Naming
  /** Whose requests are signed, and the origins that they may go to. */
  readonly audiences: ReadonlyMap<string, Audience>
  /** Whether requests to other origins are refused, or sent without a signature. */
  readonly unlisted: 'refuse' | 'plain'
  /** The longest wait before a request is signed again, in milliseconds. */
  readonly maxRetryAfterMs: number
  /** The origin of the service that publishes the agent's keys. */
  readonly issuer: string
  /** Null: requests carry no certificate. */
  readonly tokens: CarriedTokens | null
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly signer: () => Signer
  /** @throws CountersignError NO_DID */
  readonly did: () => Promise<string>
  /** Null: it cannot sign in. @throws CountersignError WRONG_AUDIENCE if a challenge is for another site */
  readonly answer: ((challenge: string, audience: string) => Promise<SignedChallenge>) | null
  /** Asked before each signature. @throws CountersignError if the agent must not send this request */
  readonly assertAllowed?: ((request: Request) => Promise<void>) | undefined
}

/** Signs and sends the requests of an agent, and keeps its sessions at sites. */
export class RequestSigner {
  readonly #agent: SigningAgent
  /** Origins that may still know this agent by its previous key; null until the key changes. */
  #acceptedNewKey: Set<string> | null = null
  #sessions = new SiteSessions()

  constructor(agent: SigningAgent) {
    this.#agent = agent
  }

  /** Ends what belongs to the previous key. */
  keyChanged(): void {
    this.#acceptedNewKey = new Set()
    this.#agent.tokens?.forget()
    this.#sessions = new SiteSessions()
  }

  /** Forgets the certificate, which counts no longer. */
  certificateEnded(): void {
    this.#agent.tokens?.forget()
  }

  /** Described at `Agent.sign`. */
  async sign(input: string | URL | Request, init?: RequestInit): Promise<Request> {
    const request = requestToSign(input, init)
    const audience = this.#audienceOf(request.url)
    return this.#sign(request, await bufferBody(request), { audience })
  }

  /**
   * Signs a request to the service itself, which need not be one of the audiences.
   * @param path of the request; it is signed for the origin of the service, whatever address is used to reach it
   * @returns all its header fields
   * @throws CountersignError INVALID_ARGUMENT if the origin of the service is not https; NO_DID
   */
  async signForService(path: string, init: RequestInit): Promise<Record<string, string>> {
    const { issuer } = this.#agent
    const [audience] = audiencesOf([issuer]).values()
    const request = requestToSign(new URL(path, issuer), init)
    const signed = await this.#sign(request, await bufferBody(request), { audience })
    return Object.fromEntries(signed.headers)
  }

  /** Described at `Agent.fetch`. */
  async fetch(
    input: string | URL | Request,
    init?: RequestInit,
    approval: CarriedApproval | null = null,
  ): Promise<Response> {
    const { audiences, unlisted, naming, tokens, now, did } = this.#agent
    const request = requestToSign(input, init)
    if (!audiences.has(new URL(request.url).origin)) {
      if (unlisted === 'refuse') this.#audienceOf(request.url)
      request.headers.delete(naming.idHeader)
      request.headers.delete(naming.tokenHeaders.approval)
      return globalThis.fetch(request)
    }
    const sessions = this.#sessions
    return signedFetch(request, {
      approval,
      approvalHeader: naming.tokenHeaders.approval,
      sign: (each, body, nonce) => this.#sign(each, body, { nonce }),
      mayRetry: ({ url, headers }, status) =>
        this.#mayHavePreviousKey(new URL(url).origin, status) ||
        (status === 401 && tokens?.renewAfterRefusal(headers) === true),
      waitBefore: ({ headers }) => {
        const wait = retryAfterOf(headers, now())
        return wait !== null && wait <= this.#agent.maxRetryAfterMs ? wait : null
      },
      sessionOf: (origin) => sessions.get(origin, now()),
      endSession: (origin, session) => sessions.end(origin, session),
      signInAfter: (response, each, refused) => this.#signInAfter(response, each, refused),
      withSession: async (each, body, { token }) => {
        const headers = new Headers(each.headers)
        headers.set(naming.idHeader, await did())
        headers.set('authorization', `Bearer ${token}`)
        return new Request(each, { headers, body, redirect: 'manual' })
      },
    })
  }

  /** Described at `Agent.signIn`. */
  async signIn(
    endpoint: string | URL,
    options: Pick<CallOptions, 'signal'>,
  ): Promise<AgentSession> {
    const { audiences, answer } = this.#agent
    const audience = originOf(endpoint, 'The endpoint')
    if (answer === null) throw new TypeError('only agents sign in')
    const sessions = this.#sessions
    const session = await signInAt(endpoint, options, (challenge) => answer(challenge, audience))
    if (audiences.has(audience)) sessions.set(audience, session)
    return session
  }

  #audienceOf(url: string): Audience {
    const { origin } = new URL(url)
    const audience = this.#agent.audiences.get(origin)
    if (audience !== undefined) return audience
    const message = `This agent does not sign for ${origin}, which is not one of its audiences. If it is a site that you chose, add it: new Agent({ …, audiences: ['${origin}'] }). Requests without a signature: fetch(), or unlisted: 'plain' for agent.fetch.`
    throw new CountersignError('WRONG_AUDIENCE', message)
  }

  async #sign(
    request: Request,
    body: Uint8Array<ArrayBuffer> | null,
    {
      audience = this.#audienceOf(request.url),
      nonce = null,
    }: { readonly audience?: Audience | undefined; readonly nonce?: string | null },
  ): Promise<Request> {
    const { naming, issuer, tokens, now } = this.#agent
    await this.#agent.assertAllowed?.(request)
    const did = await this.#agent.did()
    const headers = new Headers(request.headers)
    headers.set(naming.idHeader, did)
    // The same throughout, also if the key changes meanwhile.
    const signer = this.#agent.signer()
    for (const [name, value] of (await tokens?.headersFor(did, signer.publicKey)) ?? [])
      headers.set(name, value)
    const keySet = agentKeySetUrl(issuer, did.slice(naming.didPrefix.length))
    const { method, url } = request
    try {
      const signed = await signRequest(
        { method, url, headers: [...headers], body },
        {
          publicKey: signer.publicKey,
          sign: (message) => signer.sign(message),
          signatureAgent: signatureAgentOf(audience, keySet),
          naming,
          createdAt: now(),
          nonce: nonce ?? encodeBase64Url(crypto.getRandomValues(new Uint8Array(18))),
        },
      )
      for (const [name, value] of signed) headers.set(name, value)
    } catch (cause) {
      if (!(cause instanceof StructuredFieldError)) throw cause
      const message = `This request cannot be signed: ${cause.message}.`
      throw new CountersignError('INVALID_ARGUMENT', message, { cause })
    }
    return new Request(request, { headers, body, redirect: 'manual' })
  }

  /** Signs in where a response says: at the origin of the request, which is one of the audiences. */
  async #signInAfter(response: Response, { url }: Request, refused: AgentSession | null) {
    const { naming, now, answer } = this.#agent
    if (answer === null) return null
    const endpoint = signInUrlOf(response, url, naming.idHeader)
    if (endpoint === null) return null
    const { origin } = endpoint
    // Another request may have signed in meanwhile.
    const current = this.#sessions.get(origin, now())
    if (current !== null && current !== refused) return current
    return this.#sessions.signIn(origin, () =>
      signInAt(endpoint, {}, (challenge) => answer(challenge, origin)),
    )
  }

  /** Once for each origin after a change of the key: the site may have the previous one in its cache. */
  #mayHavePreviousKey(origin: string, status: number): boolean {
    const isFirst = this.#acceptedNewKey?.has(origin) === false
    if (isFirst) this.#acceptedNewKey?.add(origin)
    return isFirst && status === 401
  }
}
