import { coveredNames, type DecodedRequest } from './decode-request.ts'
import type { PastedRequest } from './parse-pasted.ts'
import { type RequestForm, timeText } from './request-form.ts'

/** A link that reproduces a case. */
export interface RequestLink {
  /** Path and query; null if it would be too long. */
  readonly path: string | null
  /** What it leaves out, by name. */
  readonly leftOut: readonly string[]
}

/** Longer addresses are cut off or refused by too many programs. */
const LONGEST = 6_000

/** In place of a value that is signed, and that a link must not contain. */
const LEFT_OUT = '[left-out]'

const SECRETS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])
/** What the verifier reads besides what is covered. */
const READ = [
  'host',
  'signature',
  'signature-input',
  'signature-agent',
  'content-length',
  'transfer-encoding',
]
/** Parameters of a query that are likely secrets. */
const SECRET_PARAMETER =
  /((?:^|[?&])[^=&]*(?:token|secret|passw|key|code|session|auth|sig|credential|jwt)[^=&]*=)([^&]+)/gi

/**
 * @param now when it was checked, in milliseconds since 1970
 */
export function requestLink(
  form: RequestForm,
  { method, url, headers, body }: PastedRequest,
  decoded: DecodedRequest,
  now: number,
): RequestLink {
  const needed = new Set([...READ, ...coveredNames(decoded), ...decoded.required])
  const leftOut = new Set<string>()
  const lines: string[] = []
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    const isSecret = SECRETS.has(lower)
    if (isSecret || !needed.has(lower)) leftOut.add(name)
    if (needed.has(lower)) lines.push(`${name}: ${isSecret ? LEFT_OUT : value.trim()}`)
  }
  if (body !== null) {
    leftOut.add('the body')
    // There is content, which decides on what has to be covered.
    const length = Buffer.byteLength(body)
    if (!decoded.fields.has('content-length')) lines.push(`Content-Length: ${length}`)
  }
  const address = url.replaceAll(SECRET_PARAMETER, (_, name: string) => {
    leftOut.add('values of the query')
    return name + LEFT_OUT
  })
  const query = new URLSearchParams({
    request: [`${method} ${address}`, ...lines].join('\n'),
    at: timeText(now),
  })
  for (const name of ['origin', 'key', 'break'] as const) {
    if (form[name] !== '') query.set(name, form[name])
  }
  const path = `/check/request?${query}`
  return { path: path.length > LONGEST ? null : path, leftOut: [...leftOut] }
}

/** Whether a link has left out a value that is signed. */
export function isRedacted({ headers, url }: PastedRequest, decoded: DecodedRequest): boolean {
  const covered = coveredNames(decoded)
  if (covered.includes('@query') && url.includes(LEFT_OUT)) return true
  return headers.some(
    ([name, value]) => value.trim() === LEFT_OUT && covered.includes(name.toLowerCase()),
  )
}
