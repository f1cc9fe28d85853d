import { mergeVary } from '../denial.ts'
import type { ForwardedHeaders } from '../forwarded-headers.ts'

/** Removes identity headers that the client sent, and sets the gateway's own. */
export function replaceIdentityHeaders(
  headers: Headers,
  isIdentity: (name: string) => boolean,
  forwarded: ForwardedHeaders,
): void {
  for (const name of identityNames(headers, isIdentity)) headers.delete(name)
  for (const [name, value] of forwarded) headers.set(name, value)
}

function identityNames(headers: Headers, isIdentity: (name: string) => boolean): string[] {
  const names: string[] = []
  headers.forEach((_, name) => {
    if (isIdentity(name)) names.push(name)
  })
  return names
}

/** Adds names to the response's `Vary`. @returns a copy if the headers of the response are immutable */
export function addVary(response: Response, names: string): Response {
  const current = response.headers.get('vary')
  const vary = mergeVary(current, names)
  if (vary === current) return response
  try {
    response.headers.set('vary', vary)
    return response
  } catch {
    // Responses below 200 cannot be constructed, and 101 (switching protocols) is never cached.
    if (response.status < 200) return response
    const copy = new Response(response.body, response)
    copy.headers.set('vary', vary)
    return copy
  }
}
