import {
  CodedError,
  SIGNATURE_REASONS,
  type SignatureReason,
  type SignatureResult,
  type SignedRequest,
} from '@countersign/protocol'

/** The fields of the form, as typed. */
export interface RequestForm {
  readonly method: string
  readonly url: string
  /** Raw header lines, `Name: value`. */
  readonly headers: string
  /** Empty: not given. */
  readonly body: string
  /** The origin of the site that received the request. Empty: that of the URL. */
  readonly audience: string
}

/** The checks of a signed request, in their order (docs: signed requests; RFC 9421 and Web Bot Auth). */
export const REQUEST_CHECKS = [
  'limits',
  'syntax',
  'authority',
  'path',
  'components',
  'times',
  'key',
  'signature',
  'identification',
  'status',
  'nonce',
  'body',
] as const

export type RequestCheckName = (typeof REQUEST_CHECKS)[number]

/** The check that each reason comes from. */
const CHECK_OF_REASON: Readonly<Record<SignatureReason, RequestCheckName>> = {
  unsigned: 'limits',
  limits: 'limits',
  malformed: 'syntax',
  'no-audience': 'authority',
  'bad-host': 'authority',
  authority: 'authority',
  insecure: 'authority',
  'bad-path': 'path',
  components: 'components',
  'not-yet-valid': 'times',
  expired: 'times',
  lifetime: 'times',
  'test-key': 'key',
  'untrusted-agent': 'key',
  'unknown-key': 'key',
  'directory-unavailable': 'key',
  'delegation-refused': 'key',
  'delegation-invalid': 'key',
  'delegation-expired': 'key',
  'delegation-ended': 'key',
  algorithm: 'signature',
  'bad-signature': 'signature',
  'identification-mismatch': 'identification',
  suspended: 'status',
  revoked: 'status',
  'delegation-limit': 'status',
  'not-admitted': 'status',
  nonce: 'nonce',
  replay: 'nonce',
  'too-many-requests': 'nonce',
  'replay-unchecked': 'nonce',
  digest: 'body',
}

/** `undecided`: the check could not be made, so the request proves nothing. `not-reached`: an earlier check ended the verification. */
export type RequestOutcome = 'passed' | 'failed' | 'undecided' | 'not-reached'

export interface RequestCheck {
  readonly check: RequestCheckName
  readonly outcome: RequestOutcome
}

export type RequestAnswer =
  | {
      readonly kind: 'checked'
      readonly audience: string
      readonly result: SignatureResult
      readonly checks: readonly RequestCheck[]
    }
  | { readonly kind: 'malformed'; readonly message: string }

/** Verifies a request whose body is given as bytes, or undefined. */
export type VerifySignedRequest = (
  request: SignedRequest,
  body: Uint8Array | undefined,
) => Promise<SignatureResult>

/**
 * Verifies a pasted request. Nothing is fetched or recorded.
 * @throws CodedError, StorageFailure for faults of the service, never for the input
 */
export async function checkRequest(
  verify: VerifySignedRequest,
  form: RequestForm,
): Promise<RequestAnswer> {
  try {
    const request = requestOf(form)
    let result: SignatureResult | null = null
    for (const body of bodyVariants(form.body)) {
      result = await verify(request, body)
      if (result.reason !== 'digest') break
    }
    if (result === null) throw new Error('a request has at least one body variant')
    return {
      kind: 'checked',
      audience: request.audience,
      result,
      checks: checksOf(result.reason),
    }
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'VALIDATION_ERROR') throw error
    return { kind: 'malformed', message: error.message }
  }
}

/** Browsers send line ends of a form as CR LF (HTML 4.10.21.4), while the body may contain LF: try both. */
function bodyVariants(text: string): (Uint8Array | undefined)[] {
  if (text === '') return [undefined]
  const texts = new Set([text.replaceAll('\r\n', '\n'), text])
  return [...texts].map((each) => new Uint8Array(Buffer.from(each, 'utf8')))
}

/** The verifier stops at the first fault: every check before it has passed, and none after it was made. */
function checksOf(reason: SignatureReason | null): RequestCheck[] {
  const stop = reason === null ? -1 : REQUEST_CHECKS.indexOf(CHECK_OF_REASON[reason])
  return REQUEST_CHECKS.map((check, index) => {
    if (reason === null || index < stop) return { check, outcome: 'passed' }
    if (index > stop) return { check, outcome: 'not-reached' }
    return {
      check,
      outcome: SIGNATURE_REASONS[reason].verdict === 'invalid' ? 'failed' : 'undecided',
    }
  })
}

const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const MAX_URL = 8192
const MAX_HEADERS = 200
/** RFC 9110 section 5.6.2, and the pseudo-header fields of HTTP/2. */
const HEADER_LINE = /^(:?[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):(.*)$/

/** @throws CodedError VALIDATION_ERROR */
export function requestOf(form: Omit<RequestForm, 'body'>): SignedRequest {
  const { method, url, headers, audience } = form
  const sent = url.trim()
  const verb = method.trim()
  if (!METHOD.test(verb)) throw refusal('Enter the method as your site received it, such as GET.')
  if (!/^https?:\/\//.test(sent) || sent.length > MAX_URL || !URL.canParse(sent)) {
    throw refusal('Enter the complete URL, such as https://shop.example/orders?page=2.')
  }
  const origin = audience.trim() === '' ? new URL(sent).origin : audience.trim()
  return { method: verb, url: sent, headers: headerLines(headers), audience: origin }
}

/** @throws CodedError VALIDATION_ERROR that names the line, never its value */
function headerLines(text: string): [string, string][] {
  const lines = text.split(/\r?\n/).map((line, index) => ({ line, number: index + 1 }))
  const filled = lines.filter(({ line }) => line.trim() !== '')
  if (filled.length > MAX_HEADERS) {
    throw refusal(
      `There are more than ${MAX_HEADERS} header lines. Remove those that are not signed.`,
    )
  }
  return filled.map(({ line, number }) => {
    // As `curl -v` prints what it sends.
    const [, name, value] = HEADER_LINE.exec(line.replace(/^> /, '')) ?? []
    if (name === undefined || value === undefined) {
      throw refusal(
        `Line ${number} is not a header line. Write one “Name: value” a line, without the request line.`,
      )
    }
    return [name, value]
  })
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
