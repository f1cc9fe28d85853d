import {
  type CodedError,
  ERROR_STATUS,
  type ErrorCode,
  type ErrorEnvelope,
} from '@countersign/protocol'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toCodedError } from '../errors.ts'
import { EXPOSED_OF_REFUSALS } from './cors.ts'
import { pageHeaders } from './page-headers.ts'
import { wantsPage } from './wants-page.ts'

/** An error for people, as the failure page shows it. */
export interface Failure {
  readonly code: ErrorCode
  readonly status: number
  readonly message: string
  readonly requestId: string
  /** Whether the address was that of a certificate: the page then says that there is none. */
  readonly certificate: boolean
}

/** Renders the page that people see instead of the error envelope; null: the pages are not built, so everyone gets JSON. */
export interface FailurePage {
  readonly baseUrl: string
  readonly render: ((failure: Failure) => string) | null
}

/** A response that is not a success: the only shape there is (contract section 7). */
export interface ErrorResponse {
  readonly status: number
  readonly body: ErrorEnvelope
}

export function errorResponse(code: ErrorCode, message: string, requestId: string): ErrorResponse {
  return { status: ERROR_STATUS[code], body: { error: { code, message, requestId } } }
}

export const NOTHING_HERE = 'There is nothing at this address.'

/** Codes of Fastify's own errors that are no validation error. */
const FASTIFY_CODES: Readonly<Record<string, { code: ErrorCode; message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The body must be JSON: Content-Type: application/json, in UTF-8.',
  },
}

/** The one place where an error becomes a response: the envelope, or for people who read pages a page of the same. */
export function handleErrors(app: FastifyInstance, page: FailurePage): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { code, message, retryAfterSeconds } = translate(error, request)
    if (retryAfterSeconds != null) askToComeBack(reply, retryAfterSeconds)
    sendRefusal(page, request, reply, code, message)
  })
  app.setNotFoundHandler((request, reply) => {
    sendRefusal(page, request, reply, 'NOT_FOUND', NOTHING_HERE)
  })
}

/** Answers errors of Fastify's router, which come before there is a route: an address that cannot be decoded. */
export function routerErrorsTo(page: FailurePage) {
  return (_error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    sendRefusal(
      page,
      request,
      reply,
      'VALIDATION_ERROR',
      'The address is not well-formed: a percent sign must be followed by the UTF-8 bytes of a character.',
    )
}

function sendRefusal(
  page: FailurePage,
  request: FastifyRequest,
  reply: FastifyReply,
  code: ErrorCode,
  message: string,
): void {
  const { status, body } = errorResponse(code, message, request.id)
  const render = wantsPage(request) ? page.render : null
  reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(render !== null ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8')
  if (render === null) {
    reply.serializer(JSON.stringify).send(body)
    return
  }
  const certificate = request.url.startsWith('/agent/')
  const html = render({ ...body.error, status, certificate })
  reply.headers(pageHeaders(page.baseUrl)).header('vary', 'Accept').serializer(String).send(html)
}

function translate(
  error: FastifyError,
  request: FastifyRequest,
): { code: ErrorCode; message: string; retryAfterSeconds?: number | null } {
  if (error.validation !== undefined) return { code: 'VALIDATION_ERROR', message: explain(error) }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body has more than ${size(request.routeOptions.bodyLimit)}.`
    return { code: 'PAYLOAD_TOO_LARGE', message }
  }
  const known = FASTIFY_CODES[error.code]
  if (known !== undefined) return known
  // Of Fastify and its plugins: none of our own errors has a status.
  const { statusCode = 500 } = error
  if (statusCode === 403 || statusCode === 404) return { code: 'NOT_FOUND', message: NOTHING_HERE }
  if (statusCode < 500) return { code: 'VALIDATION_ERROR', message: error.message }
  const refusal = toCodedError(error)
  logIfOurs(refusal, request)
  return refusal
}

/** RFC 9110 section 10.2.3. A page of another origin sees the header only where it is told that it may. */
function askToComeBack(reply: FastifyReply, seconds: number): void {
  reply.header('retry-after', String(seconds))
  if (!reply.hasHeader('access-control-allow-origin')) return
  reply.header('access-control-expose-headers', EXPOSED_OF_REFUSALS)
}

function size(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2
  return mebibytes < 1 ? `${bytes / 1024} KiB` : `${mebibytes} MiB`
}

/** Refusals for want of room have no cause and are counted: thousands a second must not be as many lines. */
function logIfOurs({ code, cause, message }: CodedError, request: FastifyRequest): void {
  const status = ERROR_STATUS[code]
  if (status < 500 || (status > 500 && cause === undefined)) return
  request.log.error({ err: cause, requestId: request.id }, message)
}

/** `body.publicKey must be an Ed25519 public key: …`, out of the description in the schema. */
function explain(error: FastifyError): string {
  const first = error.validation?.[0]
  if (first === undefined) return error.message
  const place = `${error.validationContext}${first.instancePath.replaceAll('/', '.')}`
  const { description, additionalProperty } = {
    ...(first as { parentSchema?: { description?: string } }).parentSchema,
    ...first.params,
  } as { description?: string; additionalProperty?: string }
  if (additionalProperty !== undefined) {
    return `${place} has a field that is not known: ${JSON.stringify(additionalProperty).slice(0, 80)}`
  }
  if (first.keyword !== 'required' && first.instancePath !== '' && description !== undefined) {
    return `${place} must be ${description}`
  }
  return `${place} ${first.message}`
}
