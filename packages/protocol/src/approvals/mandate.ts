import { sha256 } from '@noble/hashes/sha2.js'
import { isWithinLimits, readLimits } from '../delegation/limits.ts'
import { utf8 } from '../encoding.ts'
import { canonicalJson } from '../transparency-log/canonical-json.ts'
import { jsonRows } from './json-rows.ts'
import type { RequestToApprove } from './request.ts'

/** What a value of the body has to be: anything, exactly the text of `jsonRows`, or an amount that is not higher. */
export type MandateRule = 'any' | { readonly equals: string } | { readonly atMost: string }

/** The most that the requests of a mandate may amount to in a number of days. */
export interface MandateTotal {
  /** Of a value that has the rule `atMost`. */
  readonly pointer: string
  readonly amount: string
  readonly days: number
}

/** Which requests the service approves by itself. */
export interface MandateTerms {
  /** One origin, one method, and paths as in delegations: `/exact` or `/prefix/*`. */
  readonly limits: {
    readonly origins: readonly string[]
    readonly methods: readonly string[]
    readonly paths: readonly string[]
  }
  /** A rule for each value of the body, by its pointer; null: the requests have no body. */
  readonly body: Readonly<Record<string, MandateRule>> | null
  /** Null: only `perDay` limits them. */
  readonly total: MandateTotal | null
  /** Requests in 24 hours. */
  readonly perDay: number
}

/** What a passkey signs: a mandate for one agent. */
export interface MandateStatement extends MandateTerms {
  /** The DID. */
  readonly agent: string
  /** ISO 8601 with milliseconds, UTC. */
  readonly expiresAt: string
  /** The id of the approval that it is made from. */
  readonly from: string
  /** The query of each request, as it is written; empty: none. */
  readonly query: string
  /** Of the approval `from`. The agent never sees it, so it cannot know the challenge. */
  readonly salt: string
  /** The service's address. */
  readonly service: string
}

/** Mandates of an agent that have not ended. */
export const MAX_MANDATES = 20
/** The longest time until a mandate expires, and of a total, in days. */
export const MAX_MANDATE_DAYS = 90
export const MAX_MANDATE_USES_PER_DAY = 100
/** How long what a mandate approved can be used, in seconds. */
export const MANDATE_SECONDS = 120

/** No leading zeros: some readers take them for octal. */
export const AMOUNT_PATTERN = /^(?:0|[1-9]\d{0,8})(?:\.\d{1,2})?$/

/** The statement as canonical JSON (RFC 8785) of exactly these members. */
export function mandateStatement(statement: MandateStatement): string {
  const { agent, body, expiresAt, from, limits, perDay, query, salt, service, total } = statement
  const { origins, methods, paths } = limits
  return canonicalJson({
    agent,
    body: body === null ? null : Object.fromEntries(Object.entries(body).map(ruleMember)),
    expiresAt,
    from,
    limits: { origins, methods, paths },
    perDay,
    query,
    salt,
    service,
    total: total && { pointer: total.pointer, amount: total.amount, days: total.days },
  })
}

function ruleMember([pointer, rule]: [string, MandateRule]) {
  if (rule === 'any') return [pointer, rule] as const
  const member = 'equals' in rule ? { equals: rule.equals } : { atMost: rule.atMost }
  return [pointer, member] as const
}

/**
 * The challenge of the passkey: SHA-256 of `svc-mandate-v1`, a line feed and the statement.
 * @param shortName of the deployment, in place of `svc`
 * @returns 32 bytes
 */
export function mandateChallenge(shortName: string, statement: string): Uint8Array {
  return sha256(utf8(`${shortName}-mandate-v1\n${statement}`))
}

/** The query of a URL as it is written, without the question mark. */
export function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

/**
 * An amount in hundredths, of a number or a string as `jsonRows` gives it, or as a mandate writes it.
 * @returns null if it is none: other currencies' separators, signs, exponents and leading zeros could be read differently
 */
export function hundredthsOf(text: string): number | null {
  const plain = /^"(.*)"$/s.exec(text)?.[1] ?? text
  if (!AMOUNT_PATTERN.test(plain)) return null
  const [whole = '', fraction = ''] = plain.split('.')
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'))
}

/**
 * Why the terms are not those of requests like one that a person has approved.
 * @param from the request that was approved
 * @returns a sentence; null if a mandate can have them
 */
export function mandateFault(terms: MandateTerms, from: RequestToApprove): string | null {
  const { limits, body, total } = terms
  const { origin } = new URL(from.url)
  if (readLimits(limits) === null) return 'The limits are not in the form of a delegation.'
  if (limits.origins.length !== 1 || limits.origins[0] !== origin) {
    return `The limits must have one origin, ${origin}.`
  }
  if (limits.methods.length !== 1 || limits.methods[0] !== from.method) {
    return `The limits must have one method, ${from.method}.`
  }
  if (!isInside(terms, from)) return 'The paths must include that of the approved request.'
  const rows = rowsOf(from)
  if ((rows === null) !== (body === null)) {
    return 'Give a rule for each value of the body; null if the request has none.'
  }
  if (rows !== null && body !== null) {
    if (!hasExactly(body, rows)) return 'Give exactly one rule for each value of the body.'
    for (const [pointer, text] of rows) {
      const fault = ruleFault(body[pointer] as MandateRule, pointer, text)
      if (fault !== null) return fault
    }
  }
  return total === null ? null : totalFault(total, body)
}

function ruleFault(rule: MandateRule, pointer: string, text: string): string | null {
  if (rule === 'any') return null
  if ('equals' in rule) {
    if (rule.equals === text) return null
    return `The value at ${pointer} must equal that of the approved request, ${text}.`
  }
  if (hundredthsOf(text) !== null && AMOUNT_PATTERN.test(rule.atMost)) return null
  return `The value at ${pointer} and its limit must be amounts such as 50.00.`
}

function totalFault({ pointer, amount }: MandateTotal, body: MandateTerms['body']): string | null {
  const rule = body !== null && Object.hasOwn(body, pointer) ? body[pointer] : undefined
  if (rule === undefined || rule === 'any' || !('atMost' in rule)) {
    return 'The total must be that of a value with the rule atMost.'
  }
  return AMOUNT_PATTERN.test(amount) ? null : 'The total must be an amount such as 200.00.'
}

/**
 * What a request counts under a mandate.
 * @param query of the mandate
 * @param request that can be approved (`approvalRequestFault`)
 * @returns its amount in hundredths, 0 without a total; null if the mandate does not admit it. Whether its total and `perDay` do,
 *   the caller compares with the uses before it
 */
export function mandateAmount(
  terms: MandateTerms,
  query: string,
  request: RequestToApprove,
): number | null {
  const { body, total } = terms
  if (!isInside(terms, request) || queryOf(request.url) !== query) return null
  const rows = rowsOf(request)
  if (rows === null || body === null) return rows === null && body === null ? 0 : null
  if (!hasExactly(body, rows)) return null
  if (!rows.every(([pointer, text]) => admits(body[pointer] as MandateRule, text))) return null
  if (total === null) return 0
  return hundredthsOf(rows.find(([pointer]) => pointer === total.pointer)?.[1] ?? '')
}

function admits(rule: MandateRule, text: string): boolean {
  if (rule === 'any') return true
  if ('equals' in rule) return text === rule.equals
  const [amount, most] = [hundredthsOf(text), hundredthsOf(rule.atMost)]
  return amount !== null && most !== null && amount <= most
}

function isInside({ limits }: MandateTerms, { method, url }: RequestToApprove): boolean {
  const { origin, pathname: path } = new URL(url)
  // The request has no fields yet. Sites refuse those that override method or path with each approval.
  return isWithinLimits({ ...limits, mcp: null }, { method, origin, path, fields: new Map() })
}

function rowsOf({ body }: RequestToApprove) {
  return body === null ? null : jsonRows(body)
}

function hasExactly(
  body: Readonly<Record<string, MandateRule>>,
  rows: ReturnType<typeof jsonRows>,
): boolean {
  return (
    Object.keys(body).length === rows.length &&
    rows.every(([pointer]) => Object.hasOwn(body, pointer))
  )
}
