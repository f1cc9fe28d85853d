import type { ChannelRow, Db } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'

/** A channel whose control was proven once. It may be stale by now. */
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

/** The proven channels of an agent, oldest proof first. Only these are public. */
export function provenChannels(db: Db, tail: string): Promise<ProvenChannelRow[]> {
  return selectProven(db, { tail })
}

/** The proven channels of all active agents of an owner, in no particular order. */
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

/** The proven channels of several agents, oldest proof first. */
export async function provenChannelsOf(
  db: Db,
  tails: readonly string[],
): Promise<ProvenChannelRow[]> {
  // PostgreSQL rejects `in ()`.
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

/** A page of the proven channels of all agents, in the order of their ids, starting after an id. */
export function provenChannelsAfter(
  db: Db,
  after: string,
  limit: number,
): Promise<ProvenChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll()
    .where('id', '>', after)
    .where('verified_at', 'is not', null)
    .orderBy('id')
    .limit(limit)
    .$castTo<ProvenChannelRow>()
    .execute()
}
