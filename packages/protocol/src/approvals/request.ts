import { utf8 } from '../encoding.ts'
import { isLoopback } from '../http-signatures/signature-agent.ts'
import { isUnambiguousPath } from '../unambiguous-path.ts'
import { JsonRowsError, jsonRows } from './json-rows.ts'

/** A request that a person can approve: exactly these bytes. */
export interface RequestToApprove {
  readonly method: string
  readonly url: string
  /** Both are null, or neither. */
  readonly contentType: string | null
  readonly body: string | null
}

export const MAX_APPROVAL_URL_LENGTH = 1024
/** In UTF-8. */
export const MAX_APPROVAL_BODY_BYTES = 4096
/** The only type of body that can be approved. */
export const APPROVAL_CONTENT_TYPE = 'application/json'
const MAX_PARAMETERS = 20

const METHOD = /^[A-Z]{1,16}$/
/** They open a tunnel, or are answered by servers without their application. */
const REFUSED_METHODS = ['CONNECT', 'OPTIONS', 'TRACE']
const METHODS_WITH_BODY = ['POST', 'PUT', 'PATCH', 'DELETE']
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/
const LONE_SURROGATE = /\p{Cs}/u

/**
 * Why a person cannot be asked to approve a request: servers could read it differently, or it does not fit on the page.
 * @param service its address, for which no request is approved
 * @returns a sentence; null if it can be approved
 */
export function approvalRequestFault(request: RequestToApprove, service: string): string | null {
  const { method, url, contentType, body } = request
  if (!METHOD.test(method) || REFUSED_METHODS.includes(method)) {
    return `The method must be 1 to 16 capital letters, and none of ${REFUSED_METHODS.join(', ')}.`
  }
  const fault = urlFault(url, service)
  if (fault !== null) return fault
  if (contentType === null && body === null) return null
  if (contentType === null || body === null) return 'Send contentType and body, or neither.'
  if (!METHODS_WITH_BODY.includes(method)) {
    return `Only ${METHODS_WITH_BODY.join(', ')} can have a body.`
  }
  if (contentType !== APPROVAL_CONTENT_TYPE) {
    return `The contentType must be ${APPROVAL_CONTENT_TYPE}, without parameters.`
  }
  return bodyFault(body)
}

function urlFault(text: string, service: string): string | null {
  if (text.length > MAX_APPROVAL_URL_LENGTH) {
    return `The url has more than ${MAX_APPROVAL_URL_LENGTH} characters.`
  }
  if (!URL.canParse(text) || new URL(text).href !== text) {
    return 'The url must be written as new URL(url).href gives it.'
  }
  const url = new URL(text)
  const isSecure =
    url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  if (!isSecure || !HOST.test(url.hostname)) return 'The url must begin with https://.'
  if (url.username !== '' || url.password !== '' || text.includes('#')) {
    return 'The url must not have a user, a password or a fragment.'
  }
  if (!isUnambiguousPath(url.pathname)) {
    return 'Servers read the path of the url differently: write it without //, ; and encoded characters that need no encoding.'
  }
  if (queryRows(text) === null) {
    return `The query must have at most ${MAX_PARAMETERS} parameters, each with a name of its own, and encode nothing without need.`
  }
  if (url.origin === new URL(service).origin) {
    return 'Requests to this service itself cannot be approved.'
  }
  return null
}

function bodyFault(body: string): string | null {
  if (LONE_SURROGATE.test(body)) return 'The body is not well-formed Unicode.'
  if (utf8(body).length > MAX_APPROVAL_BODY_BYTES) {
    return `The body has more than ${MAX_APPROVAL_BODY_BYTES} bytes.`
  }
  try {
    jsonRows(body)
    return null
  } catch (error) {
    if (error instanceof JsonRowsError) return `The body ${error.message}`
    throw error
  }
}

/** A parameter of a query. */
export interface QueryRow {
  /** Decoded as a form is: `+` is a space. */
  readonly name: string
  readonly value: string
  /** As it is in the URL. */
  readonly written: string
}

/** Letters, digits and `-._~` (RFC 3986 section 2.3) in encoded form: `%31%30` hides a 10. */
const NEEDLESS = /%(?:2[de]|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f|7e)/i

/**
 * The parameters of a URL's query, in their order.
 * @param url as `new URL(url).href`
 * @returns null if readers could take it differently: two names that are equal but for their case, an empty name, a semicolon,
 *   which separates parameters for some, more than 20 parameters, needless encoding, or bytes that are not UTF-8
 */
export function queryRows(url: string): readonly QueryRow[] | null {
  const at = url.indexOf('?')
  if (at < 0 || at === url.length - 1) return []
  const query = url.slice(at + 1)
  const parameters = query.split('&')
  if (parameters.length > MAX_PARAMETERS || NEEDLESS.test(query) || query.includes(';')) return null
  const rows: QueryRow[] = []
  const names = new Set<string>()
  for (const written of parameters) {
    const [name, value] = splitAt(written, '=').map(decoded)
    if (name == null || value == null || name === '') return null
    names.add(name.toLowerCase())
    rows.push({ name, value, written })
  }
  return names.size === rows.length ? rows : null
}

function splitAt(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
