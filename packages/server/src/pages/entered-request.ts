import { CodedError, type SignedRequest } from '@countersign/protocol'

/** A request as somebody enters it. */
export interface EnteredRequest {
  readonly method: string
  readonly url: string
  /** Raw header lines, `Name: value`. */
  readonly headers: string
  /** The origin of the site that received the request. Empty: that of the URL. */
  readonly audience: string
}

const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const MAX_URL = 8192
const MAX_HEADERS = 200
/** RFC 9110 section 5.6.2, and the pseudo-header fields of HTTP/2. */
const HEADER_LINE = /^(:?[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):(.*)$/

/** @throws CodedError VALIDATION_ERROR */
export function requestOf({ method, url, headers, audience }: EnteredRequest): SignedRequest {
  const sent = url.trim()
  const verb = method.trim()
  if (!METHOD.test(verb)) throw refusal('Enter the method as your site received it, such as GET.')
  if (!/^https?:\/\//.test(sent) || sent.length > MAX_URL || !URL.canParse(sent)) {
    throw refusal('Enter the complete URL, such as https://shop.example/orders?page=2.')
  }
  const origin = audience.trim() === '' ? new URL(sent).origin : audience.trim()
  return { method: verb, url: sent, headers: headerLines(headers), audience: origin }
}

/**
 * @param before how many lines come before these, for the number in a message
 * @throws CodedError VALIDATION_ERROR that names the line, never its value
 */
export function headerLines(text: string, before = 0): [string, string][] {
  const lines = text.split(/\r?\n/).map((line, index) => ({ line, number: before + index + 1 }))
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
      throw refusal(`Line ${number} is not a header line. Write one “Name: value” a line.`)
    }
    return [name, value]
  })
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
