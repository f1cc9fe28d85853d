import {
  NotThere,
  OutOfReach,
  type Page,
  type Perspective,
} from '../../core/network/perspective.ts'

/** The address of what a domain publishes about itself (RFC 8615). */
export function wellKnownUrl(domain: string, name: string): URL {
  return new URL(`https://${domain}/.well-known/${name}`)
}

/**
 * Fetches it.
 * @throws NotThere where the domain says that there is nothing, OutOfReach where it says anything else
 */
export async function fetchWellKnown(from: Perspective, url: URL, accept: string): Promise<Page> {
  const page = await from.get(url, accept)
  if (page.status === 200) return page
  const answer = `${url} answers ${page.status}.`
  throw page.status === 404 || page.status === 410 ? new NotThere(answer) : new OutOfReach(answer)
}
