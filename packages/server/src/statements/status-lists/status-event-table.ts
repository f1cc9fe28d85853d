import { hash } from 'node:crypto'
import type { FeedChange, StatusValue } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, EventRow } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'

/** The payloads of the events about status lists. */
export interface StatusEventPayload {
  readonly list: number
  readonly idx: number
  /** Of `status.changed` only. */
  readonly status?: StatusValue
}

/** SQLite uses a partial index only if the query repeats the index's condition as a constant. */
const isChange = sql<boolean>`type = 'status.changed'`

const selectChanges = prepared<{ after: number; upTo: number; limit: number }, EventRow>(
  (db, param) =>
    db
      .selectFrom('events')
      .selectAll()
      .where(isChange)
      .where('seq', '>', param('after'))
      .where('seq', '<=', param('upTo'))
      .orderBy('seq')
      .limit(param('limit')),
)

/** The changes of entries with `after` < `seq` <= `upTo`, in order. */
export async function changesBetween(
  db: Db,
  range: { readonly after: number; readonly upTo: number; readonly limit: number },
): Promise<FeedChange[]> {
  return (await selectChanges(db, range)).map(changeOf)
}

/** The line of the feed for a `status.changed` event. */
export function changeOf({ seq, at, payload }: EventRow): FeedChange {
  const { list, idx, status } = JSON.parse(payload) as Required<StatusEventPayload>
  return { seq, at, list, idx, status }
}

/** Of no event: that of a database in which nothing has happened. */
const NOTHING = hash('sha256', '', 'base64url')

/**
 * SHA-256 of an event, base64url: after a restore or a failover, another event may have the same sequence number. Payloads count
 * for events of status lists only, because those of others are erased with their owner's account.
 */
export function digestOf(event: EventRow | null): string {
  if (event === null) return NOTHING
  const { seq, at, type, tail, payload } = event
  const parts = [seq, at, type, tail, type.startsWith('status.') ? payload : null]
  return hash('sha256', JSON.stringify(parts), 'base64url')
}
