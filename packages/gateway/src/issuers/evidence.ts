import type { FeedPosition } from '@countersign/sdk'
import type { AgentData } from '../decision/decision.ts'
import type { ListedStatus } from './list-store.ts'

type Status = AgentData['status']

/** What is known of the status of an agent, whose certificate and key were verified. */
export interface KnownStatus {
  /** The entry of the certificate in the status lists; null if the list is not known. */
  readonly listed: ListedStatus | null
  /** Of the newest verified head, in milliseconds since 1970. */
  readonly asOf: number
  /** The age of the status lists, in milliseconds: keys that are overdue make it longer. */
  readonly listAgeMs: number
  /** Verified ones, for the same agent and key. */
  readonly staples: readonly Stapled[]
  /** What the service answered last if that was a restriction, and when, in milliseconds since 1970; null otherwise. */
  readonly lookup: { readonly status: Status; readonly at: number } | null
  /** Milliseconds since 1970. */
  readonly now: number
}

interface Stapled {
  readonly status: Status
  readonly feed: FeedPosition | null
  /** Milliseconds since 1970. */
  readonly issuedAt: number
}

/** The status that counts, with its age. */
export interface Verdict {
  readonly status: Status
  readonly source: 'certificate' | 'staple' | 'cache'
  readonly ageMs: number
}

/** How much later than an answer of the service a staple has to be issued to override it: nodes may be that far behind. */
const LATER_MS = 5_000

interface Statement extends Verdict {
  /** The place in the feed of which it is, or newer. */
  readonly position: number
  /** Whether it is from after what the service answered. */
  readonly isLater: boolean
}

/**
 * Which status counts: the statement with the newest place in the feed wins, and a restriction wins over an active status of the same
 * place. Ages never decide, apart from two active statuses of one place. A pure function (docs/certificates.md has its table).
 * @returns `replaced`: for good; null if nothing is known
 */
export function verdictOf(known: KnownStatus): Verdict | 'replaced' | null {
  const { listed, staples, lookup, now } = known
  if (listed?.status === 'invalid') return 'replaced'
  const statements = [...ofList(known), ...staples.map((staple) => ofStaple(staple, known))]
  const revoked = statements.find(({ status }) => status === 'revoked')
  if (revoked !== undefined) return revoked
  const newest = statements.toSorted((a, b) => b.position - a.position || a.ageMs - b.ageMs)
  const restriction = newest.find(({ status }) => status !== 'active')
  const floor = restriction?.position ?? Number.NEGATIVE_INFINITY
  const active = newest.find((each) => isActive(each) && each.position > floor && each.isLater)
  if (active !== undefined) return active
  if (restriction !== undefined) return restriction
  return lookup && { status: lookup.status, source: 'cache', ageMs: now - lookup.at }
}

function isActive({ status }: Statement): boolean {
  return status === 'active'
}

function ofList({ listed, asOf, listAgeMs, lookup }: KnownStatus): Statement[] {
  if (listed === null) return []
  const source = 'certificate'
  const rest = { source, ageMs: listAgeMs, isLater: lookup === null || asOf > lookup.at } as const
  if (listed.status === 'suspended') {
    return [{ ...rest, status: 'suspended', position: listed.feed?.n ?? Number.POSITIVE_INFINITY }]
  }
  // Without a verified head, only a restriction counts.
  return listed.feed === null ? [] : [{ ...rest, status: 'active', position: listed.feed.n }]
}

function ofStaple(
  { status, feed, issuedAt }: Stapled,
  { listed, lookup, now }: KnownStatus,
): Statement {
  const isLater = lookup === null || issuedAt >= lookup.at + LATER_MS
  const ageMs = Math.max(0, now - issuedAt)
  const position = positionOf(status, feed, listed?.feed ?? null)
  return { status, source: 'staple', ageMs, position, isLater }
}

/** Numbers of two epochs cannot be compared: such a staple may restrict, and never makes active. */
function positionOf(status: Status, feed: FeedPosition | null, list: FeedPosition | null): number {
  if (feed !== null && (list === null || feed.epoch === list.epoch)) return feed.n
  if (status !== 'active') return Number.POSITIVE_INFINITY
  return list === null ? 0 : Number.NEGATIVE_INFINITY
}
