import { CodedError, type Did, didWebOf } from '@countersign/protocol'
import type { AgentView } from '../agents/agent-record.ts'
import { findAgentForPage, isUsername, type PageReadDeps } from '../agents/find-agent.ts'
import type { Site } from '../base/site.ts'
import { givenUpOn } from './agent-address.ts'

/** The outcome of looking up what somebody typed into the check page. */
export type AgentCheck =
  | { readonly kind: 'found'; readonly view: AgentView }
  | { readonly kind: 'unknown' }
  /** A username that no agent has. `givenUpOn` as in `AgentAddress`. */
  | { readonly kind: 'free'; readonly givenUpOn: string | null }
  /** A URL or DID of another deployment. */
  | { readonly kind: 'elsewhere'; readonly host: string }
  /** A claim token: a secret, which the page must not echo. */
  | { readonly kind: 'token' }
  | { readonly kind: 'unreadable' }

const MOST = 2048

/**
 * Finds the agent that somebody names by username, DID, tail, did:web, base64 public key, or the URL of one of our pages.
 * @throws StorageFailure
 */
export async function checkAgent(deps: PageReadDeps, text: string): Promise<AgentCheck> {
  const { site } = deps
  const asked = text.trim()
  if (asked.length > MOST) return { kind: 'unreadable' }
  if (asked.startsWith(site.naming.tokenPrefix)) return { kind: 'token' }
  const address = parseUrl(site, asked)
  const place = address === null ? referenceInDidWeb(site, asked) : referenceInUrl(site, address)
  if (typeof place !== 'string') return place
  try {
    return { kind: 'found', view: await findAgentForPage(deps, place) }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    if (error.code === 'NOT_FOUND') {
      if (!isUsername(site, place)) return { kind: 'unknown' }
      return { kind: 'free', givenUpOn: await givenUpOn(deps, place) }
    }
    if (error.code === 'VALIDATION_ERROR') return { kind: 'unreadable' }
    throw error
  }
}

/** Parses a URL. Our own host may stand without a scheme. */
function parseUrl({ baseUrl, host }: Site, text: string): URL | null {
  if (/^https?:\/\//i.test(text)) return URL.parse(text)
  return text.startsWith(`${host}/`) ? URL.parse(baseUrl + text.slice(host.length)) : null
}

/** Extracts the agent reference from a URL of this service: a certificate page, anything below it, or an API path. */
function referenceInUrl({ baseUrl, naming }: Site, url: URL): string | AgentCheck {
  if (url.origin !== baseUrl) return { kind: 'elsewhere', host: url.host }
  const tail = new RegExp(`^/agent/${naming.shortName}/agent/([^/]+)/did\\.json$`).exec(
    url.pathname,
  )
  const reference = tail ?? /^\/(?:agent|api\/agents|api\/v1\/agent)\/([^/]+)/.exec(url.pathname)
  try {
    return decodeURIComponent(reference?.[1] ?? '')
  } catch {
    return { kind: 'unreadable' }
  }
}

/** Extracts the DID from a did:web of this host. Other text is returned unchanged but for a leading @. */
function referenceInDidWeb({ host }: Site, text: string): string | AgentCheck {
  if (!text.startsWith('did:web:')) return text.replace(/^@/, '')
  const ours = didWebOf(host, '' as Did)
  if (text.startsWith(ours)) return text.slice(ours.length)
  const [, , other = ''] = text.split(':')
  return { kind: 'elsewhere', host: other.replace(/%3A/i, ':') }
}
