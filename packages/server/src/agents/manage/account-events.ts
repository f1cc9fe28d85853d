import {
  type AccountEvents,
  type AccountEventsQuery,
  CodedError,
  type Tail,
} from '@countersign/protocol'
import type { ActivityPosition } from '../../accounts/account-activity-table.ts'
import { currentEpoch, eventUid, parsePosition } from '../../accounts/event-uid.ts'
import { isFinding, type OcsfSubject, ocsfEvent } from '../../accounts/ocsf.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import type { Db, OwnerRow } from '../../database/database.ts'
import { lastSeq } from '../../database/event-table.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { describeEntries } from './activity.ts'
import { type ActivityEntry, activityOfOwner } from './activity-table.ts'

const PAGE_SIZE = '100'

type EventDeps = Pick<CoreDeps, 'db' | 'site' | 'serviceName'>
type Page = Omit<AccountEventsQuery, 'format'>

/**
 * A page of the events of an owner's account and of all their agents, oldest first.
 * @throws CodedError CURSOR_EXPIRED if a restore or a failover has lost events since the cursor
 */
export async function listEvents(
  deps: EventDeps,
  ownerId: number,
  query: Page,
): Promise<AccountEvents> {
  const { epoch, entries, ...rest } = await readPage(deps.db.read, ownerId, query)
  const events = await describeEntries(deps, entries)
  return { events: events.map((each) => ({ ...each, cursor: `${epoch}-${each.id}` })), ...rest }
}

/**
 * The same page in OCSF 1.8.0.
 * @returns `lines`: one event each, in JSON
 * @throws what `listEvents` throws
 */
export async function listOcsfEvents(
  { db, site, serviceName }: EventDeps,
  ownerId: number,
  query: Page,
): Promise<Pick<AccountEvents, 'next' | 'more'> & { readonly lines: string }> {
  const { epoch, entries, ...rest } = await readPage(db.read, ownerId, query)
  const account = accountOf(await ownerById(db.read, ownerId))
  const service = { baseUrl: site.baseUrl, serviceName }
  const lines = entries.map((entry) => {
    const uid = eventUid(epoch, entry.position)
    const { at, type } = 'event' in entry ? entry.event : entry.activity
    const payload = payloadOf(entry)
    const subject = subjectOf(site, entry, payload) ?? { account }
    return `${JSON.stringify(ocsfEvent(service, { type, at, uid, subject, payload }))}\n`
  })
  return { lines: lines.join(''), ...rest }
}

async function readPage(db: Db, ownerId: number, { after, limit = PAGE_SIZE }: Page) {
  const size = Number(limit)
  const epoch = await currentEpoch(db)
  // Read first. What is committed while the page is read could otherwise be ahead of what the same page has missed.
  const upTo = await lastSeq(db)
  const start = after === undefined ? { seq: 0, id: 0 } : positionIn(after, epoch)
  if (start.seq > upTo) throw cursorExpired()
  const filter = { ownerId, range: { after: start, upTo }, kind: null }
  const found = await activityOfOwner(db, filter, size + 1)
  const entries = found.slice(0, size)
  return {
    epoch,
    entries,
    next: eventUid(epoch, entries.at(-1)?.position ?? start),
    more: found.length > size,
  }
}

/** @throws CodedError CURSOR_EXPIRED */
function positionIn(cursor: string, epoch: string): ActivityPosition {
  const at = cursor.lastIndexOf('-')
  if (cursor.slice(0, at) !== epoch) throw cursorExpired()
  return parsePosition(cursor.slice(at + 1))
}

function cursorExpired(): CodedError {
  return new CodedError(
    'CURSOR_EXPIRED',
    'The service was restored from a backup, and events after this cursor were lost. Read again without `after`.',
  )
}

function payloadOf(entry: ActivityEntry): Record<string, unknown> {
  return JSON.parse('event' in entry ? entry.event.payload : entry.activity.details)
}

/** @returns null: the account itself */
function subjectOf(
  site: Site,
  entry: ActivityEntry,
  { agent }: Readonly<Record<string, unknown>>,
): OcsfSubject | null {
  if ('event' in entry) {
    const { tail } = entry.event
    return tail === null ? null : { agent: didOfAgent(site, tail as Tail) }
  }
  return isFinding(entry.activity.type) && typeof agent === 'string' ? { agent } : null
}

function accountOf(owner: OwnerRow | undefined) {
  const isOrganisation = owner?.kind === 'organisation'
  const uid = (isOrganisation ? owner.public_id : owner?.username) ?? ''
  return { uid, isOrganisation }
}
