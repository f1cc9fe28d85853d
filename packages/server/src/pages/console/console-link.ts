import { type ConsoleForm, DEFAULT_FORM } from './console-form.ts'
import { formatJson } from './format-literal.ts'

/** Longer addresses are cut off or refused by too many programs. */
const LONGEST = 6_000

/** What a link contains besides the policy. */
const NAMES = ['origin', 'request', 'agent', 'away', 'target'] as const

/**
 * The address that shows this state. It has no captured request, and no query of any: these may contain secrets.
 * @returns a path; null if it would be too long
 */
export function consoleLink(form: ConsoleForm): string | null {
  const shared = {
    ...form,
    request: form.headers === '' ? form.request.replace(/[?#].*$/s, '') : DEFAULT_FORM.request,
  }
  const query = new URLSearchParams({ policy: rewritten(form.policy, JSON.stringify) })
  for (const name of NAMES) {
    if (shared[name] !== DEFAULT_FORM[name]) query.set(name, shared[name])
  }
  const path = `/console?${query}`
  return path.length > LONGEST ? null : path
}

/**
 * The form that a link describes. What it does not contain is as at first.
 * @param query the parsed query of the address
 */
export function formOfLink(query: unknown): ConsoleForm {
  const given = query as Readonly<Record<string, unknown>>
  const text = (name: keyof ConsoleForm) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    return typeof value === 'string' ? value.trim() : DEFAULT_FORM[name]
  }
  const entries = NAMES.map((name) => [name, text(name)])
  const policy = rewritten(text('policy'), formatJson)
  return { ...DEFAULT_FORM, ...Object.fromEntries(entries), policy }
}

/** Text that is not JSON stays as it is. */
function rewritten(policy: string, write: (value: unknown) => string): string {
  try {
    return write(JSON.parse(policy))
  } catch {
    return policy
  }
}
