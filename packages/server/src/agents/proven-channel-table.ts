import type { ChannelRow, Db } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

/** A channel that has been proven; whether it still counts is a question of the moment. */
export type ProvenChannelRow = ChannelRow & {
  readonly verified_at: number
  readonly checked_at: number
}

const selectProven = prepared<{ tail: string }, ProvenChannelRow>((db, param) =>
  db
    .selectFrom('channels')
    .selectAll()
    .where('tail', '=', param('tail'))
    .where('verified_at', 'is not', null)
    .orderBy('verified_at')
    .orderBy('id')
    .$castTo<ProvenChannelRow>(),
)

/** What is public of an agent's channels: those that have been proven, the oldest proof first. */
export function provenChannels(db: Db, tail: string): Promise<ProvenChannelRow[]> {
  return selectProven(db, { tail })
}

/** Those of every active agent of an owner. */
export function provenChannelsOfActive(db: Db, ownerId: number): Promise<ProvenChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll('channels')
    .innerJoin('agents', 'agents.tail', 'channels.tail')
    .where('agents.owner_id', '=', ownerId)
    .where('agents.status', '=', 'active')
    .where('verified_at', 'is not', null)
    .$castTo<ProvenChannelRow>()
    .execute()
}

/** Those of some agents, of each the oldest proof first. */
export async function provenChannelsOf(
  db: Db,
  tails: readonly string[],
): Promise<ProvenChannelRow[]> {
  // `in ()` is no SQL; SQLite alone takes it.
  if (tails.length === 0) return []
  return db
    .selectFrom('channels')
    .selectAll()
    .where('tail', 'in', tails)
    .where('verified_at', 'is not', null)
    .orderBy('verified_at')
    .orderBy('id')
    .$castTo<ProvenChannelRow>()
    .execute()
}

const selectProvenBetween = prepared<{ after: number; last: number }, ProvenChannelRow>(
  (db, param) =>
    db
      .selectFrom('agents')
      // Which SQLite takes in this order: agent by agent, not all channels for each range.
      .crossJoin('channels')
      .selectAll('channels')
      .whereRef('channels.tail', '=', 'agents.tail')
      .where('agents.seq', '>', param('after'))
      .where('agents.seq', '<=', param('last'))
      .where('verified_at', 'is not', null)
      .orderBy('verified_at')
      .orderBy('id')
      .$castTo<ProvenChannelRow>(),
)

/** The same of a range of agents, by their place in the order of claims. */
export function provenChannelsBetween(
  db: Db,
  after: number,
  last: number,
): Promise<ProvenChannelRow[]> {
  return selectProvenBetween(db, { after, last })
}
