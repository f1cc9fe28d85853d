import {
  type CodedError,
  ERROR_STATUS,
  type ErrorCode,
  type ErrorEnvelope,
} from '@countersign/protocol'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refusalOf } from '../domain/refusals.ts'

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
  FST_ERR_CTP_BODY_TOO_LARGE: {
    code: 'PAYLOAD_TOO_LARGE',
    message: 'The body has more than 16 KiB.',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The body must be JSON: Content-Type: application/json, in UTF-8.',
  },
}

/** The one place where an error becomes a response. */
export function handleErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { code, message } = translate(error, request)
    send(reply, request, code, message)
  })
  app.setNotFoundHandler((request, reply) => {
    send(reply, request, 'NOT_FOUND', NOTHING_HERE)
  })
}

function send(
  reply: FastifyReply,
  request: FastifyRequest,
  code: ErrorCode,
  message: string,
): void {
  const { status, body } = errorResponse(code, message, request.id)
  reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(body)
}

function translate(
  error: FastifyError,
  request: FastifyRequest,
): { code: ErrorCode; message: string } {
  if (error.validation !== undefined) return { code: 'VALIDATION_ERROR', message: explain(error) }
  const known = FASTIFY_CODES[error.code]
  if (known !== undefined) return known
  // Of Fastify and its plugins: none of our own errors has a status.
  const { statusCode = 500 } = error
  if (statusCode === 403 || statusCode === 404) return { code: 'NOT_FOUND', message: NOTHING_HERE }
  if (statusCode < 500) return { code: 'VALIDATION_ERROR', message: error.message }
  const refusal = refusalOf(error)
  logIfOurs(refusal, request)
  return refusal
}

function logIfOurs(refusal: CodedError, request: FastifyRequest): void {
  if (ERROR_STATUS[refusal.code] >= 500) {
    request.log.error({ err: refusal.cause, requestId: request.id }, refusal.message)
  }
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
