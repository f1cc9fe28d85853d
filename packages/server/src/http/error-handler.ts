import {
  type CodedError,
  ERROR_STATUS,
  type ErrorCode,
  type ErrorEnvelope,
  type ScimErrorType,
} from '@countersign/protocol'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EXPOSED_HEADERS_ON_ERROR } from './cors.ts'
import { toCodedError } from './errors.ts'
import { pageHeaders } from './page-headers.ts'
import { isScim, SCIM_JSON, ScimError, scimErrorBody } from './scim-errors.ts'
import { wantsPage } from './wants-page.ts'

/** The content of the error page. */
export interface Failure {
  readonly code: ErrorCode
  readonly status: number
  readonly message: string
  readonly requestId: string
  /** Whether the URL is that of a certificate page: the page then says that there is no such certificate. */
  readonly certificate: boolean
}

/** Renders the error page for browsers. `render` is null if the pages are not built: then browsers get JSON too. */
export interface FailurePage {
  readonly baseUrl: string
  readonly render: ((failure: Failure) => string) | null
}

/** The status and JSON body of every error (contract section 7). */
export interface ErrorResponse {
  readonly status: number
  readonly body: ErrorEnvelope
}

export function errorResponse(code: ErrorCode, message: string, requestId: string): ErrorResponse {
  return { status: ERROR_STATUS[code], body: { error: { code, message, requestId } } }
}

export const NOT_FOUND_MESSAGE = 'There is nothing at this address.'

/** What a route may have said about the body that an error replaces. */
const REPRESENTATION_HEADERS = ['etag', 'content-encoding']

/** Fastify errors that do not map to VALIDATION_ERROR. */
const FASTIFY_CODES: Readonly<Record<string, { code: ErrorCode; message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The body must be JSON: Content-Type: application/json, in UTF-8.',
  },
}

/** The only place where an error becomes a response: the JSON envelope, or the error page for browsers. */
export function registerErrorHandlers(app: FastifyInstance, page: FailurePage): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { code, message, retryAfterSeconds, location } = translate(error, request)
    if (retryAfterSeconds != null) setRetryAfter(reply, retryAfterSeconds)
    if (location != null) reply.header('location', location)
    const scimType = error instanceof ScimError ? error.scimType : undefined
    sendError(page, request, reply, code, message, scimType)
  })
  app.setNotFoundHandler((request, reply) => {
    sendError(page, request, reply, 'NOT_FOUND', NOT_FOUND_MESSAGE)
  })
}

/** Creates the handler of errors in Fastify's router, such as a URL with invalid percent-encoding. */
export function routerErrorHandler(page: FailurePage) {
  return (_error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    sendError(
      page,
      request,
      reply,
      'VALIDATION_ERROR',
      'The URL is not well-formed: percent-encoding must be valid UTF-8.',
    )
}

function sendError(
  page: FailurePage,
  request: FastifyRequest,
  reply: FastifyReply,
  code: ErrorCode,
  message: string,
  scimType?: ScimErrorType,
): void {
  const { status, body } = errorResponse(code, message, request.id)
  for (const name of REPRESENTATION_HEADERS) reply.removeHeader(name)
  if (isScim(request.url)) {
    reply.code(status).header('cache-control', 'no-store').type(SCIM_JSON)
    reply.serializer(JSON.stringify).send(scimErrorBody(status, body, scimType))
    return
  }
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
): Pick<CodedError, 'code' | 'message'> & Partial<CodedError> {
  if (error.validation !== undefined)
    return { code: 'VALIDATION_ERROR', message: validationMessage(error) }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body has more than ${formatSize(request.routeOptions.bodyLimit)}.`
    return { code: 'PAYLOAD_TOO_LARGE', message }
  }
  const known = FASTIFY_CODES[error.code]
  if (known !== undefined) return known
  // Only errors of Fastify and its plugins have a status.
  const { statusCode = 500 } = error
  if (statusCode === 403 || statusCode === 404)
    return { code: 'NOT_FOUND', message: NOT_FOUND_MESSAGE }
  if (statusCode < 500) return { code: 'VALIDATION_ERROR', message: error.message }
  const refusal = toCodedError(error)
  logServerError(refusal, request)
  return refusal
}

/** RFC 9110 section 10.2.3. On CORS routes it must also be exposed, or pages of other origins cannot read it. */
function setRetryAfter(reply: FastifyReply, seconds: number): void {
  reply.header('retry-after', String(seconds))
  if (!reply.hasHeader('access-control-allow-origin')) return
  reply.header('access-control-expose-headers', EXPOSED_HEADERS_ON_ERROR)
}

function formatSize(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2
  return mebibytes < 1 ? `${bytes / 1024} KiB` : `${mebibytes} MiB`
}

/** Logs errors that the service is to blame for. Load shedding, a 503 without a cause, is only counted: it can happen thousands of times a second. */
function logServerError({ code, cause, message }: CodedError, request: FastifyRequest): void {
  const status = ERROR_STATUS[code]
  if (status < 500 || (status > 500 && cause === undefined)) return
  request.log.error({ err: cause, requestId: request.id }, message)
}

/** Builds a message from the description in the schema, such as `body.publicKey must be an Ed25519 public key: …`. */
function validationMessage(error: FastifyError): string {
  const first = error.validation?.[0]
  if (first === undefined) return error.message
  const path = `${error.validationContext}${first.instancePath.replaceAll('/', '.')}`
  const { description, additionalProperty } = {
    ...(first as { parentSchema?: { description?: string } }).parentSchema,
    ...first.params,
  } as { description?: string; additionalProperty?: string }
  if (additionalProperty !== undefined) {
    return `${path} has an unknown field: ${JSON.stringify(additionalProperty).slice(0, 80)}`
  }
  if (first.keyword !== 'required' && first.instancePath !== '' && description !== undefined) {
    return `${path} must be ${description}`
  }
  return `${path} ${first.message}`
}
