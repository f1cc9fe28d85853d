import { fieldValue, type HeaderFields } from '../http-signatures/raw-request.ts'
import { isLoopback } from '../http-signatures/signature-agent.ts'
import type { DelegationLimits } from '../http-signatures/signed-request-types.ts'
import { isUnambiguousPath } from '../unambiguous-path.ts'

/** `URL` takes more, such as `a!b`, which no name of a host has. */
const ORIGIN = /^https?:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/
const METHOD = /^[A-Z]{1,16}$/
const PATH = /^\/[^*"\\]*(?:(?<=\/)\*)?$/
const MAX_PATH_LENGTH = 128
const MCP_METHOD = /^[A-Za-z/_-]{1,64}$/
const MCP_NAME = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/

/**
 * Reads limits (docs/delegation.md).
 * @param value parsed JSON
 * @returns null if a value is missing, repeated, or none of its kind
 */
export function readLimits(value: unknown): DelegationLimits | null {
  if (typeof value !== 'object' || value === null) return null
  const { origins, methods, paths, mcp } = value as Readonly<Record<string, unknown>>
  const read = {
    origins: valuesOf(origins, 8, isLimitOrigin),
    methods: methods === undefined ? null : valuesOf(methods, 8, (each) => METHOD.test(each)),
    paths: paths === undefined ? null : valuesOf(paths, 8, isLimitPath),
    mcp: mcp === undefined ? null : valuesOf(mcp, 16, isMcpLimit),
  }
  const { origins: required, ...others } = read
  if (required === undefined) return null
  return Object.values(others).includes(undefined) ? null : (read as DelegationLimits)
}

/** @returns undefined unless it is a list of 1 to `most` different values of a kind */
function valuesOf(
  value: unknown,
  most: number,
  isOfKind: (text: string) => boolean,
): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length < 1 || value.length > most) return undefined
  if (!value.every((each) => typeof each === 'string' && isOfKind(each))) return undefined
  return new Set(value).size === value.length ? value : undefined
}

function isLimitOrigin(text: string): boolean {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return false
  const { origin, protocol, hostname } = new URL(text)
  return origin === text && (protocol === 'https:' || isLoopback(hostname))
}

function isLimitPath(text: string): boolean {
  return text.length <= MAX_PATH_LENGTH && PATH.test(text) && isUnambiguousPath(text)
}

function isMcpLimit(text: string): boolean {
  const at = text.indexOf(' ')
  if (at < 0) return MCP_METHOD.test(text)
  return MCP_METHOD.test(text.slice(0, at)) && MCP_NAME.test(text.slice(at + 1))
}

/** Whether every request within the limits of a hop is within those of the hop before it. */
export function coversLimits(before: DelegationLimits, after: DelegationLimits): boolean {
  return (
    coversValues(before.origins, after.origins, isEqual) &&
    coversValues(before.methods, after.methods, isEqual) &&
    coversValues(before.paths, after.paths, matchesPath) &&
    coversValues(before.mcp, after.mcp, isEqual)
  )
}

function coversValues(
  before: readonly string[] | null,
  after: readonly string[] | null,
  covers: (limit: string, value: string) => boolean,
): boolean {
  if (before === null) return true
  return after?.every((value) => before.some((limit) => covers(limit, value))) ?? false
}

function isEqual(limit: string, value: string): boolean {
  return limit === value
}

/** Byte for byte: `/prefix/*` is what begins with `/prefix/`, also as a limit. */
function matchesPath(limit: string, path: string): boolean {
  return limit.endsWith('*') ? path.startsWith(limit.slice(0, -1)) : path === limit
}

/** The parts of a request that limits are about. */
export interface LimitedRequest {
  /** As sent. */
  readonly method: string
  /** Scheme and authority, such as `https://shop.example`. */
  readonly origin: string
  /** As sent, without the query. */
  readonly path: string
  readonly fields: HeaderFields
}

/** With these, many servers handle a request as one with another method or path. */
const OVERRIDES = new Set([
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])

/** Whether a request is within the limits of a delegation. */
export function isWithinLimits(
  { origins, methods, paths, mcp }: DelegationLimits,
  request: LimitedRequest,
): boolean {
  const { method, origin, path, fields } = request
  if (!origins.includes(origin)) return false
  if ((methods !== null || paths !== null) && hasOverride(fields)) return false
  if (methods !== null && !methods.includes(method)) return false
  if (paths !== null) {
    if (!isUnambiguousPath(path) || !paths.some((each) => matchesPath(each, path))) return false
  }
  return mcp === null || mcp.includes(mcpCallOf(fields) ?? '')
}

/**
 * Whether a header overrides the method or the path of a request, with any character in place of a hyphen: servers map `X_HTTP_Method`
 * to the same variable.
 */
export function hasOverride(fields: HeaderFields): boolean {
  for (const name of fields.keys()) {
    if (name.startsWith('x') && OVERRIDES.has(name.replace(/[^a-z0-9]/g, '-'))) return true
  }
  return false
}

/** A method with a space in it could be taken for a method and a name. */
function mcpCallOf(fields: HeaderFields): string | null {
  const method = fieldValue(fields, 'mcp-method')
  const name = fieldValue(fields, 'mcp-name')
  if (method === null || !MCP_METHOD.test(method)) return null
  return name === null ? method : `${method} ${name}`
}
