import { ERROR_STATUS, type ErrorCode, type ErrorEnvelope, SCIM_TYPE } from '@countersign/protocol'
import { scimErrorBody } from '../../packages/server/src/http/scim-errors.ts'
import { ifLimited } from '../../packages/server/src/pages/docs/deployment-names.ts'
import type { RecordedExamples } from './examples/examples.ts'
import { type Content, isRecord, mapMembers, type Operation } from './openapi-types.ts'

type Responses = Operation['responses']

/** Turns the error codes of operations into a response for each status. Operations share them, as components. */
export class ErrorResponses {
  readonly shared: Record<string, unknown> = {}
  readonly #examples: RecordedExamples

  constructor(examples: RecordedExamples) {
    this.#examples = examples
  }

  /** The responses of an operation, in which `4XX` and `5XX` say only what the bodies are. */
  of({ responses, 'x-errors': told = [], 'x-limits': limits = [] }: Operation): Responses {
    const { '4XX': errors, '5XX': _, ...own } = responses
    const isConditional = told.some((code) => CONDITION.test(code))
    const codes = told.map((code) => code.replace(CONDITION, '$1')) as ErrorCode[]
    const described: Record<string, unknown> = { ...own }
    for (const [status, group] of byStatus([...codes, 'METHOD_NOT_ALLOWED'])) {
      const content = errors?.content ?? {}
      const ownContent = own[status]?.content
      if (own[status] !== undefined) {
        described[status] = {
          ...own[status],
          content: { ...this.#content(content, group), ...ownContent },
        }
        continue
      }
      const name = this.#share(group, content)
      const isLimit = status === '429' && isConditional
      const mark = isLimit ? ifLimited(limits, name) : name
      described[status] = { $ref: `#/components/responses/${mark}` }
    }
    return described as Responses
  }

  #share(codes: readonly ErrorCode[], content: Content): string {
    const page = 'text/html' in content ? 'OrPage' : ''
    const scim = SCIM_TYPE in content ? 'InScim' : ''
    const name = codes.map(pascal).join('Or') + page + scim
    this.shared[name] ??= {
      description: codes.map((code) => `\`${code}\`: ${MEANINGS[code]}`).join('. '),
      headers: headersOf(codes),
      content: this.#content(content, codes),
    }
    return name
  }

  /** A page for browsers, and the envelope with an example for each code. */
  #content(content: Content, codes: readonly ErrorCode[]): Content {
    const examplesIn = (type: string) =>
      Object.fromEntries(codes.map((code) => [code, { value: this.#example(code, type) }]))
    return mapMembers(content, (media, type) =>
      type.endsWith('json') && isRecord(media)
        ? { ...media, examples: examplesIn(type) }
        : { ...(media as object), example: '<!doctype html><title>…</title>' },
    ) as Content
  }

  #example(code: ErrorCode, type: string): unknown {
    const example = this.#examples.error(code)
    if (type !== SCIM_TYPE) return example
    return scimErrorBody(ERROR_STATUS[code], example as ErrorEnvelope)
  }
}

/** Around a code that some deployments do not have: see `ifLimited`. */
const CONDITION = /^\ue011[^\ue012]*\ue012(\w+)\ue013$/

function byStatus(codes: readonly ErrorCode[]): Map<string, ErrorCode[]> {
  const groups = new Map<string, ErrorCode[]>()
  for (const code of codes) {
    const status = String(ERROR_STATUS[code])
    groups.set(status, [...(groups.get(status) ?? []), code])
  }
  return groups
}

function headersOf(codes: readonly ErrorCode[]) {
  const names = [
    'CacheControlNoStore',
    ...(codes.includes('METHOD_NOT_ALLOWED') ? ['Allow'] : []),
    ...(codes.includes('RATE_LIMITED') ? ['RetryAfter', 'RateLimitPolicy', 'RateLimit'] : []),
    ...(codes.includes('UNAVAILABLE') ? ['RetryAfter'] : []),
  ]
  return Object.fromEntries(
    names.map((name) => [HEADER_NAMES[name], { $ref: `#/components/headers/${name}` }]),
  )
}

const HEADER_NAMES: Readonly<Record<string, string>> = {
  CacheControlNoStore: 'Cache-Control',
  Allow: 'Allow',
  RetryAfter: 'Retry-After',
  RateLimitPolicy: 'RateLimit-Policy',
  RateLimit: 'RateLimit',
}

const pascal = (code: ErrorCode) =>
  code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  VALIDATION_ERROR: 'the request is not valid; the message says why',
  INVALID_SIGNATURE: 'a signature does not verify',
  UNAUTHENTICATED: 'there is no valid session or API key',
  FORBIDDEN: 'the account, the key or the API key may not do this',
  IDENTITY_REQUIRED: 'the owner has no valid identity verification',
  RECENT_SIGN_IN_REQUIRED: 'this needs a sign-in within the last 10 minutes',
  NOT_FOUND: 'there is nothing with this address, name or token',
  METHOD_NOT_ALLOWED: 'the method was not that of this operation',
  KEY_ALREADY_CLAIMED: 'the key has an agent with this label already',
  AGENT_NOT_ACTIVE: 'the agent is suspended or revoked',
  CONFLICT: 'the state of the resource does not allow this',
  TOKEN_EXPIRED: 'the token was used, replaced or has expired',
  CURSOR_EXPIRED: 'the cursor is too old: start from a snapshot',
  PRECONDITION_FAILED: 'If-Match names another version',
  PAYLOAD_TOO_LARGE: 'the body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'the media type of the body is not supported',
  RATE_LIMITED: 'too many requests: wait for Retry-After',
  INTERNAL_ERROR: 'the service failed',
  NOT_IMPLEMENTED: 'the transfer coding of the request is not supported',
  UNAVAILABLE: 'the service is busy, not ready or without its database',
}
