import {
  acceptSignatureHeader,
  isSafeMethod,
  type Naming,
  type RawRequest,
} from '@countersign/protocol'
import type { Decision, Denial, Refusal } from './decision/decision.ts'
import type { AcceptedProofs } from './request/headers.ts'

/** The properties of a gateway that its refusals depend on. */
export interface DenialContext {
  readonly naming: Naming
  readonly accepts: AcceptedProofs
  /** The sign-in endpoint that a 401 names: a path or an absolute URL. */
  readonly signInUrl: string | null
  /** The `Vary` value for every response. */
  readonly vary: string
  /** A nonce to sign with, if the store of nonces may not know signatures from before its start. */
  challenge(): string | null
}

/**
 * Builds the response for a refused request: the error envelope of the contract (section 7) with the reason codes, or an
 * HTML page if the caller prefers one.
 * @param decision one that does not admit the request
 * @param accept the caller's Accept header
 * @param raw the request as it was received
 */
export function denialFor(
  decision: Decision,
  context: DenialContext,
  accept: string | null,
  raw: () => RawRequest,
): Denial {
  const { accepts, vary } = context
  const { reasons } = decision
  // Every decision that does not admit the request has one.
  const refusal = decision.refusal as Refusal
  const { status, code, retryAfterSeconds } = refusal
  // Reasons would reveal what 404 hides.
  const hidden = status === 404
  const message = refusal.message ?? (hidden ? NOTHING_HERE : reasons[0].message)
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`
  const page = prefersHtml(accept)
  const body = page
    ? htmlPage(TITLES[status], message, requestId)
    : JSON.stringify({
        error: {
          code,
          message,
          requestId,
          ...(!hidden && { reasons: reasons.map((each) => each.code) }),
        },
      })
  const lacksProof =
    status === 401 || reasons[0].code === 'proof-required' || reasons[0].code === 'replay-unchecked'
  const wantsSignature = accepts.signatures && lacksProof && !hidden
  return {
    status,
    headers: [
      ['content-type', page ? 'text/html; charset=utf-8' : 'application/json'],
      ['cache-control', 'no-store'],
      ['vary', `${vary}, Accept`],
      ['x-content-type-options', 'nosniff'],
      ...(page ? [['content-security-policy', "default-src 'none'"] as const] : []),
      ...(status === 401 ? [['www-authenticate', challengesOf(context)] as const] : []),
      ...(wantsSignature ? [acceptSignature(raw(), context)] : []),
      ...(retryAfterSeconds === null ? [] : [['retry-after', String(retryAfterSeconds)] as const]),
    ],
    body,
  }
}

function acceptSignature(request: RawRequest, { naming, challenge }: DenialContext) {
  // Requests that change no state are admitted without.
  const nonce = isSafeMethod(request.method) ? null : challenge()
  return ['accept-signature', acceptSignatureHeader(request, naming.idHeader, nonce)] as const
}

/** The authentication schemes that are accepted, and where to sign in (RFC 9110 section 11.6.1; docs/sessions.md). */
function challengesOf({ naming, accepts, signInUrl }: DenialContext): string {
  if (!accepts.sessions) return naming.idHeader
  return signInUrl === null
    ? `${naming.idHeader}, Bearer`
    : `${naming.idHeader} sign_in="${signInUrl}", Bearer`
}

/** The same rule as in the service: HTML must be listed, and before JSON. */
function prefersHtml(accept: string | null): boolean {
  const html = accept?.search(/\btext\/html\b/i) ?? -1
  const json = accept?.search(/\bapplication\/json\b/i) ?? -1
  return html >= 0 && (json < 0 || html < json)
}

const NOTHING_HERE = 'There is nothing at this address.'

const TITLES: Readonly<Record<Refusal['status'], string>> = {
  400: 'Bad request',
  401: 'Agent authentication required',
  402: 'Payment required',
  403: 'Access denied',
  404: 'Not found',
  429: 'Too many requests',
  503: 'Agent verification is not available',
}

function htmlPage(title: string, message: string, requestId: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${escapeHtml(message)}</p>
<p><small>${requestId}</small></p>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`)
}

/** Calls `onRefused` of an adapter whose framework has a response object. If it throws or rejects, calls `fallBack`. */
export function callOnRefused(onRefused: () => unknown, fallBack: () => void): void {
  try {
    const returned = onRefused()
    if (returned instanceof Promise) returned.catch(fallBack)
  } catch {
    fallBack()
  }
}

/** The headers for a response of `onRefused`: those of the refusal, without the ones about its body. */
export function headersWithoutBody({ headers }: Denial): Denial['headers'] {
  return headers.filter(([name]) => !BODY_HEADERS.includes(name))
}

/** The response of `onRefused` with the headers that a refusal needs. @returns null if it throws or rejects */
export async function customResponse(
  denial: Denial,
  onRefused: () => Response | Promise<Response>,
): Promise<Response | null> {
  try {
    const { body, status, statusText, headers: own } = await onRefused()
    const headers = new Headers(own)
    for (const [name, value] of headersWithoutBody(denial)) {
      if (!headers.has(name)) headers.set(name, value)
    }
    return new Response(body, { status, statusText, headers })
  } catch {
    return null
  }
}

const BODY_HEADERS: readonly string[] = ['content-type', 'content-security-policy']
