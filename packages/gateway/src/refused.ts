import type { Decision, Denial } from './decision/decision.ts'

/** A refused request, as passed to `onRefused`: the decision, and the response that the gateway would send by itself. */
export interface Refused extends Denial {
  readonly decision: Decision
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
