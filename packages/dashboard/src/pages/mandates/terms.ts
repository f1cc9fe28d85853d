import { type MandateRule, type MandateTerms, visibleText } from '@countersign/protocol'
import { labelOf } from './mandate-form.ts'

/** What a value of the body has to be, such as `at most 50.00`. */
export function ruleText(rule: MandateRule): string {
  if (rule === 'any') return 'anything'
  return 'equals' in rule ? rule.equals : `at most ${rule.atMost}`
}

/** Such as `POST /orders/*?fast=yes`. */
export function requestText({ methods, paths }: MandateTerms['limits'], query: string): string {
  const search = query === '' ? '' : `?${query}`
  return visibleText(`${methods.join(', ')} ${paths.map((path) => path + search).join(', ')}`)
}

/** Such as `total: at most 200.00 in 30 days`. */
export function totalText({ pointer, amount, days }: NonNullable<MandateTerms['total']>): string {
  return `${labelOf(pointer)}: at most ${amount} in ${daysText(days)}`
}

/** Such as `30 days`. */
export function daysText(days: number): string {
  return days === 1 ? '1 day' : `${days} days`
}

/** Such as `3 requests`. */
export function requestsText(count: number): string {
  return count === 1 ? '1 request' : `${count} requests`
}
