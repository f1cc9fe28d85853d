import type { Forwarded } from '../forwarded.ts'

/** Headers of a request as the site behind is to see them: without what the client forged, with what was decided. */
export function rewrite(
  headers: Headers,
  isIdentity: (name: string) => boolean,
  forwarded: Forwarded,
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

/** Names `Vary` in an answer, which may be one whose headers cannot be changed. */
export function varying(response: Response, vary: string): Response {
  try {
    response.headers.set('vary', vary)
    return response
  } catch {
    // No body, no copy: a switch of protocols is not cached anyway.
    if (response.status < 200) return response
    const copy = new Response(response.body, response)
    copy.headers.set('vary', vary)
    return copy
  }
}
