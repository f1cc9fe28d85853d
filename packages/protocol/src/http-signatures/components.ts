import { tokenHeadersOf } from '../naming.ts'
import { fieldValue, type HeaderFields, type PathAndQuery } from './raw-request.ts'
import {
  type InnerList,
  isInnerList,
  parseDictionary,
  StructuredFieldError,
  serializeMember,
  serializeString,
} from './structured-fields.ts'

/** A covered component (RFC 9421 section 2). */
export interface Component {
  /** `@method`, `@authority`, … or the name of a header field in lower case. */
  readonly name: string
  /** The `key` parameter, which only `signature-agent` has here; null without one. */
  readonly key: string | null
}

/** The value of the parameter `tag` of Web Bot Auth. */
export const WEB_BOT_AUTH_TAG = 'web-bot-auth'

const DERIVED = [
  '@method',
  '@authority',
  '@scheme',
  '@target-uri',
  '@request-target',
  '@path',
  '@query',
]
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e]*$/

/** Header fields that every signature covers if the request has them. */
const COVERED_IF_PRESENT = [
  'content-type',
  'content-encoding',
  'idempotency-key',
  'authorization',
  'mcp-method',
  'mcp-name',
]

/** Methods that do not change state (RFC 9110 section 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Whether a method does not change state (RFC 9110 section 9.2.1). */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method)
}

/** The parts of a request that decide which components its signature has to cover. */
export interface CoveredParts {
  readonly method: string
  readonly fields: HeaderFields
  /** Whether the target has a `?`, even alone. */
  readonly hasQuery: boolean
  readonly hasContent: boolean
}

/**
 * The names of the components that a signature covers in the profile `strict`, in their order.
 * @param headers the deployment's `agentHeaders`
 */
export function strictNames(
  { method, fields, hasQuery, hasContent }: CoveredParts,
  headers: readonly string[],
): readonly string[] {
  const names = ['@method', '@authority', '@path']
  if (hasQuery) names.push('@query')
  if (coversDigest({ method, hasContent })) names.push('content-digest')
  for (const name of COVERED_IF_PRESENT) if (fields.has(name)) names.push(name)
  names.push('signature-agent')
  for (const name of headers) if (fields.has(name)) names.push(name)
  return names
}

/**
 * The components of `strictNames`.
 * @param agent the component that covers `Signature-Agent`
 */
export function strictComponents(
  parts: CoveredParts,
  agent: Component,
  headers: readonly string[],
): readonly Component[] {
  return strictNames(parts, headers).map((name) =>
    name === agent.name ? agent : { name, key: null },
  )
}

/** Methods whose signature covers a digest even of an empty body. */
const DIGEST_METHODS = new Set(['POST', 'PUT', 'PATCH'])

/** Whether a signature covers a digest of the body. */
export function coversDigest({
  method,
  hasContent,
}: Pick<CoveredParts, 'method' | 'hasContent'>): boolean {
  return hasContent || DIGEST_METHODS.has(method)
}

/** The headers that name an agent and carry its certificate, its status and an approval, in lower case. @param idHeader the first of them */
export function agentHeaders(idHeader: string): readonly string[] {
  const { certificate, status, approval } = tokenHeadersOf(idHeader)
  return [idHeader, certificate, status, approval].map((each) => each.toLowerCase())
}

/** Header fields that occur once in a request; repeated, two readers could see different ones. */
export function singletonHeaders(idHeader: string): readonly string[] {
  return [
    'content-type',
    'content-length',
    'idempotency-key',
    'authorization',
    'mcp-method',
    'mcp-name',
    ...agentHeaders(idHeader),
  ]
}

/**
 * The components of an inner list in `Signature-Input`.
 * @throws StructuredFieldError for a repeated or unknown component, or one with parameters other than `key` of `signature-agent`
 */
export function readComponents({ items }: InnerList): readonly Component[] {
  const seen = new Set<string>()
  return items.map(({ item, params }) => {
    if (item.type !== 'string') throw new StructuredFieldError('a component is not a string')
    const name = item.value
    if (!(name.startsWith('@') ? DERIVED.includes(name) : FIELD_NAME.test(name))) {
      throw new StructuredFieldError(`the component ${name} is not supported`)
    }
    const key = params.get('key')
    const keyed = name === 'signature-agent' && params.size === 1 && key?.type === 'string'
    if (params.size > 0 && !keyed) throw new StructuredFieldError('a component has parameters')
    const component = { name, key: keyed ? key.value : null }
    // The same field as a whole and by a member is still one field twice.
    if (seen.has(name)) throw new StructuredFieldError(`the component ${name} is repeated`)
    seen.add(name)
    return component
  })
}

/** The identifier of a component, as in `Signature-Input` and the signature base: `"signature-agent";key="sig1"`. */
export function componentIdentifier({ name, key }: Component): string {
  return serializeString(name) + (key === null ? '' : `;key=${serializeString(key)}`)
}

/** The parts of a request that a signature base is made of. */
export interface SignedParts extends PathAndQuery {
  readonly method: string
  /** Scheme and authority, such as `https://shop.example`. */
  readonly origin: string
  readonly fields: HeaderFields
}

/**
 * The signature base (RFC 9421 section 2.5).
 * @param params the serialized value of `@signature-params`
 * @throws StructuredFieldError if a covered field is missing, or is not printable ASCII
 */
export function signatureBase(
  parts: SignedParts,
  components: readonly Component[],
  params: string,
): string {
  let lines = ''
  for (const each of components) {
    lines += `${componentIdentifier(each)}: ${componentValue(parts, each)}\n`
  }
  return `${lines}"@signature-params": ${params}`
}

function componentValue(
  { method, origin, path, query, fields }: SignedParts,
  { name, key }: Component,
): string {
  switch (name) {
    case '@method':
      return method
    case '@authority':
      return origin.slice(origin.indexOf('//') + 2)
    case '@scheme':
      return origin.slice(0, origin.indexOf(':'))
    case '@path':
      return path
    case '@query':
      return query ?? '?'
    case '@request-target':
      return path + (query ?? '')
    case '@target-uri':
      return origin + path + (query ?? '')
  }
  const value = coveredField(fields, name)
  if (key === null) return value
  const member = parseDictionary(value).get(key)
  if (member === undefined || isInnerList(member)) {
    throw new StructuredFieldError(`the field ${name} has no item ${key}`)
  }
  return serializeMember(member)
}

/**
 * The combined value of a covered header field. With a line break in it, a field could add a line to the signature base.
 * @throws StructuredFieldError if it is missing or not printable ASCII
 */
export function coveredField(fields: HeaderFields, name: string): string {
  const value = fieldValue(fields, name)
  if (value !== null && VALUE.test(value)) return value
  throw new StructuredFieldError(`the field ${name} is missing or not printable ASCII`)
}
