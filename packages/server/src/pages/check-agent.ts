import { CodedError, type Did, didWebOf } from '@countersign/protocol'
import type { AgentView } from '../agents/agent-record.ts'
import { findAgentForPage, type PageReadDeps } from '../agents/find-agent.ts'
import type { Site } from '../core/site.ts'

/** What can be said to somebody who asks for an agent in their own words. */
export type AgentCheck =
  | { readonly kind: 'found'; readonly view: AgentView }
  | { readonly kind: 'unknown' }
  /** The address of a page, or a DID, of another deployment. */
  | { readonly kind: 'elsewhere'; readonly host: string }
  /** A claim token, which is nobody's name but a secret. */
  | { readonly kind: 'token' }
  | { readonly kind: 'unreadable' }

const MOST = 2048

/**
 * The agent that somebody names by what they have: a username, a DID, its tail, a did:web, a public key, or the
 * address of a page of ours.
 * @throws StorageFailure
 */
export async function checkAgent(deps: PageReadDeps, text: string): Promise<AgentCheck> {
  const { site } = deps
  const asked = text.trim()
  if (asked.length > MOST) return { kind: 'unreadable' }
  if (asked.startsWith(site.naming.tokenPrefix)) return { kind: 'token' }
  const address = addressOf(site, asked)
  const place = address === null ? placeOfDidWeb(site, asked) : placeOfAddress(site, address)
  if (typeof place !== 'string') return place
  try {
    return { kind: 'found', view: await findAgentForPage(deps, place) }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    if (error.code === 'NOT_FOUND') return { kind: 'unknown' }
    if (error.code === 'VALIDATION_ERROR') return { kind: 'unreadable' }
    throw error
  }
}

/** A web address, with its scheme or, where it is one of ours, without. */
function addressOf({ baseUrl, host }: Site, text: string): URL | null {
  if (/^https?:\/\//i.test(text)) return URL.parse(text)
  return text.startsWith(`${host}/`) ? URL.parse(baseUrl + text.slice(host.length)) : null
}

/** The reference in an address of ours: a certificate, what lies below it, or the same for programs. */
function placeOfAddress({ baseUrl, naming }: Site, url: URL): string | AgentCheck {
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

/** The DID in a did:web of ours; what is no did:web as it is, without the @ that people put before a username. */
function placeOfDidWeb({ host }: Site, text: string): string | AgentCheck {
  if (!text.startsWith('did:web:')) return text.replace(/^@/, '')
  const ours = didWebOf(host, '' as Did)
  if (text.startsWith(ours)) return text.slice(ours.length)
  const [, , other = ''] = text.split(':')
  return { kind: 'elsewhere', host: other.replace(/%3A/i, ':') }
}
