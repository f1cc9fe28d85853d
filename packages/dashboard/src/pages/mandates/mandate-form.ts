import {
  AMOUNT_PATTERN,
  hundredthsOf,
  MAX_MANDATE_DAYS,
  MAX_MANDATE_USES_PER_DAY,
  type MandateRule,
  type MandateStatement,
  type MandateTotal,
  mandateFault,
  queryOf,
  readLimits,
} from '@countersign/protocol'
import type { ShownRequest } from '../approvals/shown-request.ts'

/** What a person has entered for a value of the body. */
export interface RuleInput {
  readonly kind: 'equals' | 'atMost' | 'any'
  /** Used by the kind `atMost`. */
  readonly atMost: string
}

/** The form of a mandate, as it is entered. */
export interface MandateForm {
  readonly path: string
  /** By the pointer of the value. */
  readonly rules: Readonly<Record<string, RuleInput>>
  /** The pointer of the value that is added up; null: none. */
  readonly totalOf: string | null
  readonly totalAmount: string
  readonly totalDays: string
  readonly perDay: string
  /** Such as `2026-12-24`. */
  readonly until: string
}

const DAY_MS = 86_400_000

/** Admits only the approved request, once a day, if its path can be a limit. @param now milliseconds since 1970 */
export function strictestForm({ url, rows }: ShownRequest, now: number): MandateForm {
  return {
    path: pathsLike(url)[0] ?? url.pathname,
    rules: Object.fromEntries(
      (rows ?? []).map(([pointer]) => [pointer, { kind: 'equals', atMost: '' }]),
    ),
    totalOf: null,
    totalAmount: '',
    totalDays: '30',
    perDay: '1',
    until: dayIn(30, now),
  }
}

/** A day in UTC, such as `2026-12-24`. @param now milliseconds since 1970 */
export function dayIn(days: number, now: number): string {
  return new Date(now + days * DAY_MS).toISOString().slice(0, 10)
}

/** The limits that admit the path of a request, the strictest first: `/orders/1`, `/orders/*`, `/*`. */
export function pathsLike({ origin, pathname }: URL): readonly string[] {
  const above = pathname.split('/').slice(0, -1)
  const all = [pathname, ...above.map((_, i) => `${above.slice(0, i + 1).join('/')}/*`).reverse()]
  // Delegations and mandates refuse long paths and some characters.
  return all.filter((path) => readLimits({ origins: [origin], paths: [path] }) !== null)
}

/** The pointers of the values that have the rule `atMost`. */
export function amountsIn({ rules }: MandateForm): readonly string[] {
  return Object.keys(rules).filter((pointer) => rules[pointer]?.kind === 'atMost')
}

/** How the pages name a value. */
export function labelOf(pointer: string): string {
  return pointer.slice(1) || 'all of it'
}

/**
 * What the passkey is to sign: of the request that is shown and the form, and of nothing else.
 * @param now milliseconds since 1970
 * @returns what is missing in the form, as a sentence, if it is not complete
 */
export function mandateOf(
  shown: ShownRequest,
  form: MandateForm,
  now: number,
): MandateStatement | string {
  const { agent, id: from, method, url, contentType, rows, salt, service } = shown
  const body: Record<string, MandateRule> = {}
  for (const [pointer, text] of rows ?? []) {
    const { kind, atMost } = form.rules[pointer] as RuleInput
    if (kind === 'atMost' && !AMOUNT_PATTERN.test(atMost)) {
      return `Enter the highest amount of ${labelOf(pointer)}, such as 50.00.`
    }
    body[pointer] = kind === 'any' ? 'any' : kind === 'equals' ? { equals: text } : { atMost }
  }
  const total = totalOf(form)
  if (typeof total === 'string') return total
  const perDay = wholeNumber(form.perDay, MAX_MANDATE_USES_PER_DAY)
  if (perDay === null) return `Enter 1 to ${MAX_MANDATE_USES_PER_DAY} requests in 24 hours.`
  const expiresAt = `${form.until}T00:00:00.000Z`
  const end = Date.parse(expiresAt)
  if (!(end > now && end <= now + MAX_MANDATE_DAYS * DAY_MS)) {
    return `Choose a day within the next ${MAX_MANDATE_DAYS} days.`
  }
  const statement = {
    agent,
    body: rows && body,
    expiresAt,
    from,
    limits: { origins: [url.origin], methods: [method], paths: [form.path] },
    perDay,
    query: queryOf(url.href),
    salt,
    service,
    total,
  }
  const request = { method, url: url.href, contentType, body: shown.body }
  return mandateFault(statement, request) ?? statement
}

/** @returns a sentence if it is not complete */
function totalOf(form: MandateForm): MandateTotal | null | string {
  const { totalOf: pointer, totalAmount: amount } = form
  if (pointer === null || !amountsIn(form).includes(pointer)) return null
  const days = wholeNumber(form.totalDays, MAX_MANDATE_DAYS)
  if (hundredthsOf(amount) === null || !AMOUNT_PATTERN.test(amount)) {
    return 'Enter the total, such as 200.00.'
  }
  return days === null
    ? `Enter 1 to ${MAX_MANDATE_DAYS} days for the total.`
    : { pointer, amount, days }
}

/** @returns null unless the text is a whole number from 1 */
function wholeNumber(text: string, most: number): number | null {
  const number = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  return number >= 1 && number <= most ? number : null
}
