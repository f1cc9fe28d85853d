import { asksToSignLater, challengeNonce } from '@countersign/protocol'
import { assertChecked } from '../approvals/approval-refusal.ts'
import { CountersignError } from '../errors.ts'
import { pause, untrustedCertificate } from '../http/retry.ts'
import type { AgentSession } from '../sign-in.ts'
import { bufferBody } from './buffered-body.ts'

/** Signs a request to one of an agent's audiences. @param nonce null: a random one */
type SignRequest = (
  request: Request,
  body: Uint8Array<ArrayBuffer> | null,
  nonce: string | null,
) => Promise<Request>

/** What `signedFetch` needs of an agent. */
export interface FetchingAgent {
  readonly sign: SignRequest
  /** Whether to sign once more after a 401: the site may still have the agent's previous key, or not accept its certificate. */
  readonly mayRetry: (sent: Request, status: number) => boolean
  /** How long to wait before a request is signed again that the site could not judge yet, in ms. @returns null: do not */
  readonly waitBefore: (response: Response) => number | null
  /** The session of a site, if there is one. */
  readonly sessionOf: (origin: string) => AgentSession | null
  /** Forgets a session that the site does not accept. */
  readonly endSession: (origin: string, session: AgentSession) => void
  /**
   * Signs in where a 401 response says.
   * @param refused the session that the site did not accept, if there was one
   * @returns null if it does not say where
   * @throws CountersignError if the sign-in fails
   */
  readonly signInAfter: (
    response: Response,
    request: Request,
    refused: AgentSession | null,
  ) => Promise<AgentSession | null>
  /** The request with a session instead of a signature. */
  readonly withSession: (
    request: Request,
    body: Uint8Array<ArrayBuffer> | null,
    session: AgentSession,
  ) => Promise<Request>
  /** Null: the request was sent without an approval, and asks for none. */
  readonly approval: CarriedApproval | null
  /** The header of approvals: each is for one request, so a redirect drops it. */
  readonly approvalHeader: string
}

/** How a request gets an approval. */
export interface CarriedApproval {
  /** The token; null: none was given. */
  readonly token: string | null
  /**
   * Asks for one if a response says that it is required, and waits for the decision.
   * @returns null if the response says nothing of the kind
   */
  readonly askAfter: (
    response: Response,
    request: Request,
    body: Uint8Array | null,
  ) => Promise<string | null>
}

/** As many as fetch follows. */
const MAX_REDIRECTS = 20
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * A `Request` for what `fetch` sends: a lone `?` at the end of the URL is dropped, since not every platform sends it.
 * @throws CountersignError INVALID_ARGUMENT if the address is not absolute, or the request is signed already: it would be signed for
 *   somebody else
 */
export function requestToSign(input: string | URL | Request, init?: RequestInit): Request {
  const given = requestOf(input, init)
  for (const name of ['signature', 'signature-input', 'signature-agent']) {
    if (!given.headers.has(name)) continue
    const message = `This request already has the header ${name}. Remove it.`
    throw new CountersignError('INVALID_ARGUMENT', message)
  }
  if (!/\?(#|$)/.test(given.url)) return given
  const url = new URL(given.url)
  if (url.search !== '') return given
  url.search = ''
  return new Request(url, given)
}

/** Pages of browsers have a base for relative addresses; elsewhere, such an address is a mistake. */
function requestOf(input: string | URL | Request, init: RequestInit | undefined): Request {
  try {
    return new Request(input, init)
  } catch (cause) {
    if (typeof input !== 'string' || URL.canParse(input)) throw cause
    const message =
      'The address is not absolute. Give all of it, such as https://shop.example/orders.'
    throw new CountersignError('INVALID_ARGUMENT', message, { cause })
  }
}

/**
 * Fetches with a signature, and follows redirects within the origin, each hop with its own signature. `fetch` itself would forward the
 * signature, the identification and the body to another origin.
 * @throws CountersignError REDIRECT; NETWORK if the site's certificate is not trusted
 */
export async function signedFetch(request: Request, agent: FetchingAgent): Promise<Response> {
  const mode = request.redirect
  let body = await bufferBody(request)
  let next = request
  const token = agent.approval?.token ?? null
  if (token !== null) next.headers.set(agent.approvalHeader, token)
  for (let redirects = 0; ; redirects += 1) {
    const response = await hop(next, body, agent)
    const isRedirect = REDIRECTS.has(response.status) || response.type === 'opaqueredirect'
    if (!isRedirect || mode === 'manual') return response
    const location = response.headers.get('location')
    if (location === null && response.type !== 'opaqueredirect') return response
    await response.body?.cancel()
    if (mode === 'error' || redirects === MAX_REDIRECTS) throw refusedRedirect(next.url)
    const target =
      location !== null && URL.canParse(location, next.url) && new URL(location, next.url)
    if (!target || target.origin !== new URL(next.url).origin) throw refusedRedirect(next.url)
    const turnsToGet = becomesGet(response.status, next.method)
    if (turnsToGet) body = null
    next = redirected(next, target, turnsToGet)
    next.headers.delete(agent.approvalHeader)
  }
}

/** Signs, since a session proves too little for an approval. */
async function approvedHop(
  request: Request,
  body: Uint8Array<ArrayBuffer> | null,
  agent: FetchingAgent,
  { askAfter }: CarriedApproval,
): Promise<Response> {
  const response = await signedHop(request, body, agent)
  const token = await askAfter(response, request, body)
  if (token !== null) {
    await response.body?.cancel()
    request.headers.set(agent.approvalHeader, token)
    const approved = await signedHop(request, body, agent)
    await assertChecked(approved)
    return approved
  }
  await assertChecked(response)
  return response
}

/**
 * Sends a request with the session of the site, else with a signature. If the site answers 401 and says where to sign in, signs in
 * there and sends the request once more. A request with its own Authorization is only ever signed.
 */
async function hop(
  request: Request,
  body: Uint8Array<ArrayBuffer> | null,
  agent: FetchingAgent,
): Promise<Response> {
  const { approval } = agent
  if (approval !== null) return approvedHop(request, body, agent, approval)
  if (request.headers.has('authorization')) return signedHop(request, body, agent)
  const { origin } = new URL(request.url)
  const send = async (each: AgentSession) => sendOnce(await agent.withSession(request, body, each))
  const session = agent.sessionOf(origin)
  const response = session ? await send(session) : await signedHop(request, body, agent)
  if (response.status !== 401) return response
  if (session !== null) agent.endSession(origin, session)
  const renewed = await agent.signInAfter(response, request, session)
  if (renewed === null && session === null) return response
  await response.body?.cancel()
  return renewed === null ? signedHop(request, body, agent) : send(renewed)
}

/**
 * Sends a signed request, and sends it again at most twice: if the site may have the agent's previous key or does not accept its
 * certificate, and once if the site could not judge the signature, with a nonce that the response asks for or later.
 */
async function signedHop(
  request: Request,
  body: Uint8Array<ArrayBuffer> | null,
  { sign, mayRetry, waitBefore }: FetchingAgent,
): Promise<Response> {
  let signed = await sign(request, body, null)
  let hasRetried = false
  let wasAsked = false
  for (;;) {
    const response = await sendOnce(signed)
    const { status, headers } = response
    const field = headers.get('accept-signature')
    const nonce: string | null = wasAsked ? null : challengeNonce(status, field)
    const wait: number | null =
      !wasAsked && asksToSignLater(status, field) ? waitBefore(response) : null
    const retries: boolean = !hasRetried && mayRetry(signed, status)
    if (nonce === null && wait === null && !retries) return response
    await response.body?.cancel()
    // As fetch does, it ends with the reason of the caller's signal.
    if (wait !== null)
      await pause(wait, request.signal).catch(() => request.signal.throwIfAborted())
    wasAsked ||= nonce !== null || wait !== null
    hasRetried ||= retries
    signed = await sign(request, body, nonce)
  }
}

/** @throws CountersignError NETWORK if the site's certificate is not trusted; what `fetch` throws */
async function sendOnce(request: Request): Promise<Response> {
  try {
    return await globalThis.fetch(request, { redirect: 'manual' })
  } catch (error) {
    throw untrustedCertificate(new URL(request.url).origin, error) ?? error
  }
}

/** As fetch does (HTTP-redirect fetch, step 12). */
function becomesGet(status: number, method: string): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD'
  return (status === 301 || status === 302) && method === 'POST'
}

function redirected(request: Request, target: URL, turnsToGet: boolean): Request {
  const headers = new Headers(request.headers)
  if (!turnsToGet) return withoutBody(request, target, request.method, headers)
  for (const name of ['encoding', 'language', 'location', 'type', 'length', 'digest']) {
    headers.delete(`content-${name}`)
  }
  return withoutBody(request, target, 'GET', headers)
}

/** A request whose body was read already; `sign` adds it again. */
function withoutBody(request: Request, target: URL, method: string, headers: Headers): Request {
  const { signal, credentials } = request
  const bare = new Request(target, { method, headers, signal, credentials })
  return requestToSign(bare)
}

function refusedRedirect(url: string): CountersignError {
  return new CountersignError(
    'REDIRECT',
    `${new URL(url).origin} redirects a signed request to another origin, too often, or where this platform does not show the address.`,
  )
}
