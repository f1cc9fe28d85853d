import { CountersignError } from '../errors.ts'
import type { VerifyRequest } from '../registry-requests.ts'
import type { AgentSession } from '../sign-in.ts'

/** The two steps of a sign-in. */
export interface SignInSteps {
  begin(): Promise<string>
  complete(
    answer: VerifyRequest,
    options?: { readonly signal?: AbortSignal },
  ): Promise<AgentSession>
}

/** More than an answer to a challenge can have. */
const MAX_BYTES = 16 * 1024

const STATUS: Readonly<Record<string, number>> = {
  VALIDATION_ERROR: 400,
  INVALID_ARGUMENT: 400,
  INVALID_SIGNATURE: 401,
  CHALLENGE_SPENT: 401,
  NOT_ADMITTED: 403,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
}

/** GET issues a challenge, POST takes the answer. Errors have the shape of the contract (section 7). */
export async function answerSignIn(request: Request, steps: SignInSteps): Promise<Response> {
  try {
    if (request.method === 'GET') return json(200, { challenge: await steps.begin() })
    if (request.method !== 'POST')
      throw refused('METHOD_NOT_ALLOWED', 'GET a challenge, POST its answer.')
    return json(200, await steps.complete(await answerIn(request), { signal: request.signal }))
  } catch (error) {
    return failure(error)
  }
}

async function answerIn(request: Request): Promise<VerifyRequest> {
  // A form on another site's page cannot send this media type.
  if (!/^application\/json *(;|$)/i.test(request.headers.get('content-type') ?? '')) {
    throw refused('UNSUPPORTED_MEDIA_TYPE', 'Send the answer as application/json.')
  }
  const body = parse(await readText(request))
  const { publicKey, challenge, signature, did } = body
  const texts = [publicKey, challenge, signature, did ?? '']
  if (!texts.every((each) => typeof each === 'string')) {
    throw refused(
      'VALIDATION_ERROR',
      'An answer needs the string members publicKey, challenge and signature.',
    )
  }
  return { publicKey, challenge, signature, ...(did != null && { did }) } as VerifyRequest
}

async function readText(request: Request): Promise<string> {
  const decoder = new TextDecoder('utf-8')
  const reader = request.body?.getReader()
  let text = ''
  let length = 0
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) return text + decoder.decode()
    length += value.length
    if (length > MAX_BYTES) {
      // Not cancelled: with node:http that would end the connection before the answer.
      reader?.releaseLock()
      throw refused('PAYLOAD_TOO_LARGE', `The answer is larger than ${MAX_BYTES} bytes.`)
    }
    text += decoder.decode(value, { stream: true })
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // The error below covers this as well.
  }
  throw refused('VALIDATION_ERROR', 'The answer is not a JSON object.')
}

function failure(error: unknown): Response {
  const { code, message } = error instanceof CountersignError ? error : { code: '', message: '' }
  const status = STATUS[code]
  if (status === undefined) {
    const words = 'Agents cannot be verified at the moment. Try again later.'
    return json(503, envelope('UNAVAILABLE', words))
  }
  const headers: Record<string, string> = status === 405 ? { allow: 'GET, POST' } : {}
  return json(
    status,
    envelope(code === 'INVALID_ARGUMENT' ? 'VALIDATION_ERROR' : code, message),
    headers,
  )
}

function envelope(code: string, message: string) {
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`
  return { error: { code, message, requestId } }
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  })
}

function refused(
  code: 'METHOD_NOT_ALLOWED' | 'UNSUPPORTED_MEDIA_TYPE' | 'VALIDATION_ERROR' | 'PAYLOAD_TOO_LARGE',
  message: string,
): CountersignError {
  return new CountersignError(code, message)
}
