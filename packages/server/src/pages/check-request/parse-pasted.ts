import { CodedError, isLoopback } from '@countersign/protocol'
import { headerLines, requestOf } from '../entered-request.ts'
import { parseCurl } from './parse-curl.ts'
import { EntryFault, type RequestForm } from './request-form.ts'

/** A request that was pasted, as it was received as far as that can be seen. */
export interface PastedRequest {
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly headers: [string, string][]
  /** Null: none was pasted. */
  readonly body: string | null
  /** The origin of the site that received it. */
  readonly audience: string
}

type Parts = Pick<PastedRequest, 'method' | 'url' | 'headers' | 'body'>

/**
 * Reads a curl command, a raw HTTP request, a HAR entry, a request as JSON, or headers.
 * @throws EntryFault
 */
export function parsePasted({ request, line, origin }: RequestForm): PastedRequest {
  const text = request.trimStart()
  if (text === '') throw new EntryFault('request', 'Paste a request.')
  const parts = /^(?:\$\s+)?curl(?:\s|$)/.test(text)
    ? parseCurl(text)
    : /^[[{]/.test(text)
      ? parseHar(text)
      : parseHttp(text, line)
  const url = sentUrl(parts.url)
  if (/^https?:\/\/[^/?]*@/i.test(url)) {
    throw new EntryFault('request', 'Remove the user name and the password from the URL.')
  }
  try {
    const { audience, ...checked } = requestOf({ ...parts, url, headers: '', audience: origin })
    const headers = headerLines(parts.headers.map((each) => each.join(':')).join('\n'))
    return { ...checked, headers, body: parts.body, audience: originOf(audience) }
  } catch (error) {
    throw faultOf(error)
  }
}

/** @throws EntryFault */
function originOf(audience: string): string {
  if (URL.canParse(audience) && new URL(audience).origin === audience) return audience
  throw new EntryFault('origin', 'Enter an origin, such as https://shop.example.')
}

function faultOf(error: unknown): unknown {
  return error instanceof CodedError ? new EntryFault('request', error.message) : error
}

/** Clients send `/` for an empty path, and no fragment. */
function sentUrl(url: string): string {
  return url.replace(/#.*$/s, '').replace(/^(https?:\/\/[^/?]+)(?=\?|$)/i, '$1/')
}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) +(\S+)(?: +HTTP\/\d(?:\.\d)?)?$/

/**
 * A raw request, also as `curl -v` prints it, or headers alone.
 * @param line method and URL for headers alone
 * @throws EntryFault
 */
function parseHttp(text: string, line: string): Parts {
  const [head, body] = headAndBody(text)
  const [first = '', ...others] = head.split('\n')
  const isLine = REQUEST_LINE.test(first.trim())
  let lines: [string, string][]
  try {
    lines = headerLines(isLine ? others.join('\n') : head, isLine ? 1 : 0)
  } catch (error) {
    throw faultOf(error)
  }
  const pseudo = (name: string) => lines.find(([each]) => each === name)?.[1].trim()
  const entered = /^https?:|^\//.test(line) ? `GET ${line}` : line
  const [, method = pseudo(':method'), target = pseudo(':path')] =
    REQUEST_LINE.exec(isLine ? first.trim() : entered) ?? []
  if (method === undefined || target === undefined) {
    throw new EntryFault('line', 'Enter the method and the URL of these headers.')
  }
  const headers = lines.filter(([name]) => !name.startsWith(':'))
  const host = pseudo(':authority') ?? headerOf(headers, 'host')
  if (!target.startsWith('/')) return { method, url: target, headers, body }
  if (host === undefined) throw new EntryFault('request', 'The Host header is missing.')
  const scheme = pseudo(':scheme') ?? (isLoopbackHost(host) ? 'http' : 'https')
  return { method, url: `${scheme}://${host}${target}`, headers, body }
}

/** @returns the body is null if there is none */
function headAndBody(text: string): [string, string | null] {
  const lines = text.split('\n')
  // What `curl -v` has sent; the rest is its own or the response.
  const sent = lines.filter((each) => /^> ?/.test(each))
  if (sent.length > 0)
    return [
      sent
        .map((each) => each.replace(/^> ?/, ''))
        .join('\n')
        .trim(),
      null,
    ]
  const end = lines.findIndex((each) => each.trim() === '')
  if (end < 0) return [text, null]
  const body = lines.slice(end + 1).join('\n')
  return [lines.slice(0, end).join('\n'), body.trim() === '' ? null : body]
}

function headerOf(headers: readonly [string, string][], name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1].trim()
}

function isLoopbackHost(host: string): boolean {
  return URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)
}

type Json = Readonly<Record<string, unknown>>

/** An entry of a HAR file, a whole file, its `request` alone, or `method`, `url` and `headers`. @throws EntryFault */
function parseHar(text: string): Parts {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new EntryFault('request', 'This is not JSON. Paste a whole HAR entry.')
  }
  const requests = requestsIn(json)
  const request = requests.find(isSigned) ?? requests[0]
  const { method, url, postData } = (request ?? {}) as Json
  if (typeof method !== 'string' || typeof url !== 'string') {
    throw new EntryFault('request', 'The HAR entry has no request with a method and a URL.')
  }
  const headers = headersOf(request as Json).filter(([name]) => !name.startsWith(':'))
  const { text: body, encoding } = (postData ?? {}) as Json
  if (typeof body !== 'string') return { method, url, headers, body: null }
  const isBase64 = encoding === 'base64'
  return { method, url, headers, body: isBase64 ? Buffer.from(body, 'base64').toString() : body }
}

function requestsIn(json: unknown): readonly unknown[] {
  const { log, request } = (json ?? {}) as Json
  const entries = Array.isArray(json) ? json : ((log ?? {}) as Json).entries
  if (Array.isArray(entries)) return entries.map((each) => ((each ?? {}) as Json).request ?? each)
  return [request ?? json]
}

function isSigned(request: unknown): boolean {
  return headersOf((request ?? {}) as Json).some(([name]) => /^signature-input$/i.test(name))
}

/** As `{ name, value }`, or as pairs. */
function headersOf({ headers }: Json): [string, string][] {
  if (!Array.isArray(headers)) return []
  return headers.map((each: unknown) => {
    const { name, value } = (each ?? {}) as Json
    const [first, second] = Array.isArray(each) ? each : [name, value]
    return [String(first), String(second)]
  })
}
