import type { HeaderList, RawRequest } from './signed-request-types.ts'

/** The lines of each header field, by its name in lower case, without surrounding white space. */
export type HeaderFields = ReadonlyMap<string, readonly string[]>

/** Groups header field lines by name. */
export function headerFields(headers: HeaderList): HeaderFields {
  const fields = new Map<string, string[]>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    const line = withoutOuterSpace(value)
    const lines = fields.get(lower)
    if (lines === undefined) fields.set(lower, [line])
    else lines.push(line)
  }
  return fields
}

/** Linear: the expression `[ \t]+$` takes quadratic time for a long run of spaces inside a value. */
function withoutOuterSpace(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isSpace(value.charCodeAt(start))) start += 1
  while (end > start && isSpace(value.charCodeAt(end - 1))) end -= 1
  return value.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** The combined value of a header field (RFC 9110 section 5.2), or null if it is absent. @param name in lower case */
export function fieldValue(fields: HeaderFields, name: string): string | null {
  const lines = fields.get(name)
  if (lines === undefined) return null
  return lines.length === 1 ? (lines[0] as string) : lines.join(', ')
}

const AUTHORITY = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/
const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/is
const PRINTABLE = /^[\x21-\x7e]*$/

/**
 * The authority of a request in lower case, without the default port of its scheme (RFC 9421 section 2.2.3).
 * @returns null if it has several `Host` fields, or one that differs from an absolute target or `:authority`
 */
export function readAuthority(request: RawRequest, fields: HeaderFields): string | null {
  const { scheme, target } = request
  const hosts = fields.get('host') ?? []
  const [, targetScheme, targetAuthority] = target.startsWith('/')
    ? []
    : (ABSOLUTE.exec(target) ?? [])
  if (hosts.length > 1 || (targetScheme ?? scheme).toLowerCase() !== scheme) return null
  const authority = normalizeAuthority(request.authority, scheme)
  const named = targetAuthority === undefined ? hosts : [...hosts, targetAuthority]
  const isSame = (each: string) =>
    each === request.authority || normalizeAuthority(each, scheme) === authority
  return named.every(isSame) ? authority : null
}

/** @returns null if the text is not a host with an optional port */
function normalizeAuthority(text: string, scheme: 'http' | 'https'): string | null {
  const lower = text.toLowerCase()
  if (!AUTHORITY.test(lower)) return null
  return lower.replace(scheme === 'https' ? /:443$/ : /:80$/, '')
}

/** The path and the query of a request target, as sent. */
export interface PathAndQuery {
  readonly path: string
  /** With its `?`; null if there is none. */
  readonly query: string | null
}

/**
 * The path and the query of a request target.
 * @param origin of the request
 * @returns null if the path is not in the form that clients send: it could be one resource to the signer and another to the site
 */
export function readPath(target: string, origin: string): PathAndQuery | null {
  const rest = target.startsWith('/') ? target : (ABSOLUTE.exec(target)?.[3] ?? target)
  const mark = rest.indexOf('?')
  const path = mark === -1 ? rest : rest.slice(0, mark)
  if (!PRINTABLE.test(rest) || rest.includes('#')) return null
  if (!PLAIN_PATH.test(path) && !isPathOf(`${origin}${rest}`, path)) return null
  return { path, query: mark === -1 ? null : rest.slice(mark) }
}

/** Segments that `URL` leaves as they are. */
const PLAIN_PATH = /^\/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*(?:\/|$))*$/

function isPathOf(url: string, path: string): boolean {
  return URL.canParse(url) && new URL(url).pathname === path
}

/** Whether a request has content, as far as it can be seen. */
export function requestHasContent(
  { body, hasContent }: Pick<RawRequest, 'body' | 'hasContent'>,
  fields: HeaderFields,
): boolean {
  if (body !== undefined) return body !== null && body.length > 0
  if (hasContent !== undefined) return hasContent
  const length = fieldValue(fields, 'content-length') ?? '0'
  return !/^0+$/.test(length) || fields.has('transfer-encoding')
}
