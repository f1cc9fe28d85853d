import { isLoopback } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { Failure } from './failure.ts'

/** A request to a site, not signed yet. */
export interface SiteRequest {
  readonly method: string
  readonly url: URL
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Null without content. */
  readonly body: Uint8Array<ArrayBuffer> | null
}

/** `fetch` sets these itself. Another `Host` would go to another site than the signature names. */
const SET_BY_FETCH = [
  ...['connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive'],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]

/** The address of a site that requests may be signed for. @throws Failure USAGE, without repeating it: it could contain a password */
export function parseSiteUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new Failure(
      'USAGE',
      'The address must be an https URL without credentials, such as https://shop.example/orders.',
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new Failure(
      'USAGE',
      `${url.origin} is not https: others could read and replay the signed request. Use https; http is allowed only on loopback.`,
    )
  }
  return url
}

/** What `Agent.fetch` and `Agent.sign` take. @throws Failure USAGE if no such request can be sent */
export function requestOf({ method, url, headers, body }: SiteRequest): Request {
  const names = headers.map(([name]) => name.toLowerCase())
  const own = names.find((name) => SET_BY_FETCH.includes(name))
  if (own !== undefined) throw new Failure('USAGE', `The header ${own} cannot be set.`)
  if (body !== null && /^(get|head)$/i.test(method)) {
    throw new Failure('USAGE', `A ${method.toUpperCase()} request has no body. Use another method.`)
  }
  try {
    const fields = new Headers(headers.map(([name, value]): [string, string] => [name, value]))
    return new Request(url, { method, headers: fields, body })
  } catch (cause) {
    const message = 'The request is not valid. Check the method and the headers.'
    throw new Failure('USAGE', message, { cause })
  }
}

/**
 * `fetch` of an agent or a delegate, with errors in words.
 * @param userAgent unless the request has its own; null: that of the platform
 * @throws Failure UNREACHABLE, NO_ANSWER; CountersignError of `Agent.fetch`
 */
export async function fetchSigned(
  agent: { readonly fetch: (request: Request) => Promise<Response> },
  request: Request,
  userAgent: string | null,
): Promise<Response> {
  const { headers } = request
  if (userAgent !== null && !headers.has('user-agent')) headers.set('user-agent', userAgent)
  // `fetch` would remove a content coding from the body.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  try {
    return await agent.fetch(request)
  } catch (cause) {
    throw cause instanceof CountersignError ? cause : noResponse(request.url, cause)
  }
}

/** Why a site did not respond, or broke off. */
export function noResponse(url: string, error: unknown): Failure {
  const { origin } = new URL(url)
  const { name, cause } = error as Error
  const { code } = (cause ?? error) as { code?: unknown }
  if (name === 'TimeoutError') return new Failure('NO_ANSWER', `${origin} did not respond in time.`)
  const why = typeof code === 'string' ? ` (${code})` : ''
  return NEVER_CONNECTED.has(code)
    ? new Failure('UNREACHABLE', `${origin} cannot be reached${why}.`, { cause: error })
    : new Failure(
        'NO_ANSWER',
        `${origin} closed the connection before the response was complete${why}.`,
        {
          cause: error,
        },
      )
}

const NEVER_CONNECTED: ReadonlySet<unknown> = new Set<unknown>([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ...[
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ],
])
