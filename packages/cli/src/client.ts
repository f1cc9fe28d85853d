import { Failure, ServiceRefusal } from './failure.ts'
import { departure } from './shape.ts'
import { VERSION } from './version.ts'

const JSON_TYPE = 'application/json'
export const DID_JSON = 'application/did+json'

const TIMEOUT_MS = 10_000
/** Far more than any answer of the service has. */
const MAX_BYTES = 1024 * 1024

/** Errors before a connection stands: what was to be sent has not left. */
const NEVER_LEFT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|SIGNATURE|^ERR_(TLS|SSL)/

const ENVELOPE = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'requestId'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        requestId: { type: 'string' },
      },
    },
  },
} as const

export interface Question {
  /** Below the service's address, percent-encoded. */
  readonly path: string
  readonly accept?: string
  /** Makes it a POST. */
  readonly body?: unknown
}

/** A success, or a DID document that comes with 410. The body is JSON, and not yet checked. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/**
 * Asks the service.
 * @throws ServiceRefusal in the service's own words
 * @throws Failure UNREACHABLE, NO_ANSWER, UNEXPECTED_ANSWER
 */
export async function ask(service: URL, question: Question): Promise<Answer> {
  const response = await exchange(service, question)
  const { status } = response
  if (status >= 300 && status < 400) throw redirected(service, response)
  const mediaType = mediaTypeOf(response)
  if (mediaType !== JSON_TYPE && mediaType !== DID_JSON) throw notJson(service, status, mediaType)
  const body = parse(service, status, response.bytes)
  if (status === 200 || (status === 410 && mediaType === DID_JSON)) return { status, body }
  throw refusalIn(service, status, body)
}

interface Received {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

async function exchange(service: URL, { path, accept, body }: Question): Promise<Received> {
  const headers = { accept: accept ?? JSON_TYPE, 'user-agent': `countersign/${VERSION}` }
  // Redirects are not followed: what is sent is meant for the service that the user has named.
  const common = { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
  try {
    const response = await fetch(
      new URL(path, service),
      body === undefined
        ? { ...common, headers }
        : {
            ...common,
            method: 'POST',
            headers: { ...headers, 'content-type': JSON_TYPE },
            body: JSON.stringify(body),
          },
    )
    return {
      status: response.status,
      headers: response.headers,
      bytes: await read(service, response),
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw silence(service, error)
  }
}

async function read(service: URL, response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) throw unexpected(service, 'sends more than an answer can have')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parse(service: URL, status: number, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw unexpected(service, `answers ${status} with what is not JSON`)
  }
}

function refusalIn(service: URL, status: number, body: unknown): Error {
  if (departure(ENVELOPE, body) === null) {
    const { error } = body as { error: { code: string; message: string; requestId: string } }
    return new ServiceRefusal(error)
  }
  return unexpected(service, `answers ${status} without saying why`)
}

/** An answer that the service would not give. */
export function unexpected(service: URL, what: string): Failure {
  return new Failure(
    'UNEXPECTED_ANSWER',
    `${service.origin} ${what}. Is it a Countersign service? Check --url.`,
  )
}

function notJson(service: URL, status: number, mediaType: string): Failure {
  const what = `answers ${status} with ${mediaType || 'no media type'} instead of JSON`
  if (status < 500) return unexpected(service, what)
  return new Failure(
    'NO_ANSWER',
    `${service.origin} ${what}: something in front of the service answers for it.`,
  )
}

function redirected(service: URL, { status, headers }: Received): Failure {
  const place = URL.parse(headers.get('location') ?? '', service.href)?.origin
  const to = place === undefined || place === service.origin ? '' : `, to ${place}`
  return unexpected(service, `answers with a redirect (${status}${to})`)
}

function silence(service: URL, error: unknown): Failure {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error && cause.name === 'TimeoutError') {
    const seconds = TIMEOUT_MS / 1000
    return new Failure(
      'NO_ANSWER',
      `${service.origin} has not answered within ${seconds} seconds.`,
      { cause },
    )
  }
  const code = String((cause as { code?: unknown } | null)?.code ?? '')
  const why = code || (cause instanceof Error ? cause.message : String(cause))
  return NEVER_LEFT.test(code)
    ? new Failure('UNREACHABLE', `${service.origin} cannot be reached (${why}).`, { cause })
    : new Failure('NO_ANSWER', `${service.origin} broke off before it answered (${why}).`, {
        cause,
      })
}

function mediaTypeOf({ headers }: Received): string {
  return (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase()
}
