import type { ChannelRow, Db, Tx } from '../core/database/database.ts'
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

/** All channels of an agent, proven or not, the oldest first. */
export function channelsOfAgent(db: Db, tail: string): Promise<ChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll()
    .where('tail', '=', tail)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** All channels of an owner's agents, whatever became of them. */
export function channelsOfOwner(db: Db, ownerId: number): Promise<ChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll('channels')
    .innerJoin('agents', 'agents.tail', 'channels.tail')
    .where('agents.owner_id', '=', ownerId)
    .execute()
}

export function channelById(db: Db, id: string): Promise<ChannelRow | undefined> {
  return db.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Proven channels at the same place that belong to agents of other owners. */
export function channelsOfOthers(
  db: Db,
  { kind, handle_or_domain }: Pick<ChannelRow, 'kind' | 'handle_or_domain'>,
  ownerId: number,
): Promise<ChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll('channels')
    .innerJoin('agents', 'agents.tail', 'channels.tail')
    .where('kind', '=', kind)
    .where('handle_or_domain', '=', handle_or_domain)
    .where('agents.owner_id', '!=', ownerId)
    .where('verified_at', 'is not', null)
    .execute()
}

export async function insertChannel(tx: Tx, row: ChannelRow): Promise<void> {
  await tx.db.insertInto('channels').values(row).execute()
}

/** @returns whether the channel was still there */
export async function updateChannel(
  tx: Tx,
  id: string,
  patch: Partial<ChannelRow>,
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('channels')
    .set(patch)
    .where('id', '=', id)
    .returning('id')
    .execute()
  return updated.length > 0
}

/** Deletes a channel with its checks and its lease. */
export async function deleteChannel(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('channel_checks').where('channel_id', '=', id).execute()
  await tx.db.deleteFrom('channel_leases').where('channel_id', '=', id).execute()
  await tx.db.deleteFrom('channels').where('id', '=', id).execute()
}
