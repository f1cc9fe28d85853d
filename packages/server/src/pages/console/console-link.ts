import type { PolicyInput } from '@countersign/gateway/internal'
import { type ConsoleForm, EMPTY_FORM, fieldOf } from './console-form.ts'

/** Longer addresses are cut off or refused by too many programs. */
const LONGEST = 6_000

/** The parts of a simulated request that are in a link. Captured requests are not: they may contain secrets. */
const REQUEST_FIELDS = ['caller', 'agent', 'method', 'away'] as const

/**
 * The address that shows a policy, and the decision on a request that the console built.
 * @param policy without the fields that have their default
 * @param withRequest false: the request is captured, or could not be built
 * @returns a path; null if it would be too long
 */
export function consoleLink(
  form: ConsoleForm,
  policy: PolicyInput,
  withRequest: boolean,
): string | null {
  const query = new URLSearchParams({
    policy: JSON.stringify(policy),
    origin: fieldOf(form, 'origin'),
  })
  if (withRequest) {
    for (const name of REQUEST_FIELDS) query.set(name, fieldOf(form, name))
    query.set('url', withoutQuery(fieldOf(form, 'url')))
  }
  for (const [name, value] of [...query]) if (value === '') query.delete(name)
  const path = `/console?${query}`
  return path.length > LONGEST ? null : path
}

/** Queries may contain secrets. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

/**
 * What a link describes.
 * @param query the parsed query of the address
 * @returns null if it describes nothing. The policy is JSON, not yet loaded
 */
export function formOfLink(
  query: unknown,
): { readonly form: ConsoleForm; readonly policy: string } | null {
  const given = query as Readonly<Record<string, unknown>>
  const text = (name: string) => {
    const value = Object.hasOwn(given, name) ? given[name] : ''
    return typeof value === 'string' ? value.trim() : ''
  }
  const names = [...REQUEST_FIELDS, 'origin', 'url'] as const
  const entries = names
    .map((name) => [name, text(name)] as const)
    .filter(([, value]) => value !== '')
  const policy = text('policy')
  if (entries.length === 0 && policy === '') return null
  // A policy without an origin has none.
  const cleared = policy === '' ? [] : [['origin', ''] as const]
  const fields = new Map([...EMPTY_FORM.fields, ...cleared, ...entries])
  return { form: { ...EMPTY_FORM, fields }, policy: policy === '' ? '{}' : policy }
}
