import type { Naming } from '@countersign/protocol'
import type { Decision, Refusal } from './decision/decision.ts'

/** A refusal as an answer. */
export interface Denial {
  readonly status: Refusal['status']
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/**
 * Answers for a decision that admits nobody: the envelope of the contract (section 7) with the codes of the reasons, or a
 * page where the caller would rather read one.
 * @param accept the caller's Accept
 * @param sessions whether a session would help
 * @returns null where the request goes on
 */
export function denialOf(
  decision: Decision,
  naming: Naming,
  accept: string | null,
  sessions: boolean,
): Denial | null {
  const { admitted, refusal, reasons } = decision
  if (admitted || refusal === null) return null
  const { status, code, retryAfterSeconds } = refusal
  const message = reasons[0].message
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`
  const page = prefersPage(accept)
  const body = page
    ? pageOf(TITLES[status], message, requestId)
    : JSON.stringify({ error: { code, message, requestId, reasons: reasons.map((r) => r.code) } })
  // RFC 9110 section 11.6.1: a 401 says by which scheme one would get in.
  const challenge = sessions ? `${naming.idHeader}, Bearer` : naming.idHeader
  return {
    status,
    headers: [
      ['content-type', page ? 'text/html; charset=utf-8' : 'application/json'],
      ['cache-control', 'no-store'],
      ['vary', `${variesBy(naming, sessions)}, Accept`],
      ['x-content-type-options', 'nosniff'],
      ...(page ? [['content-security-policy', "default-src 'none'"] as const] : []),
      ...(status === 401 ? [['www-authenticate', challenge] as const] : []),
      ...(retryAfterSeconds === null ? [] : [['retry-after', String(retryAfterSeconds)] as const]),
    ],
    body,
  }
}

/** What every answer behind a gateway depends on. */
export function variesBy(naming: Naming, sessions: boolean): string {
  return sessions ? `${naming.idHeader}, Authorization` : naming.idHeader
}

/** A `Vary` with further names, without any twice. */
export function withVary(vary: string | null | undefined, names: string): string {
  if (!vary) return names
  const have = vary.toLowerCase().split(/\s*,\s*/)
  if (have.includes('*')) return vary
  const missing = names.split(', ').filter((each) => !have.includes(each.toLowerCase()))
  return [vary, ...missing].join(', ')
}

/** As the service itself does: HTML is named, and before JSON. */
function prefersPage(accept: string | null): boolean {
  const html = accept?.search(/\btext\/html\b/i) ?? -1
  const json = accept?.search(/\bapplication\/json\b/i) ?? -1
  return html >= 0 && (json < 0 || html < json)
}

const TITLES: Readonly<Record<Refusal['status'], string>> = {
  401: 'Agents identify themselves here',
  403: 'This agent is not let in',
  429: 'Too many requests',
  503: 'Agents cannot be checked at the moment',
}

function pageOf(title: string, message: string, requestId: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${escaped(message)}</p>
<p><small>${requestId}</small></p>
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`)
}
