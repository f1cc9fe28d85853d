import { type RawBuilder, sql } from 'kysely'
import type { AgentRow, ChannelRow, Db, Tx } from '../database/database.ts'

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

export function channelsOfAgents(db: Db, tails: readonly string[]): Promise<ChannelRow[]> {
  return db.selectFrom('channels').selectAll().where('tail', 'in', tails).execute()
}

export function channelById(db: Db, id: string): Promise<ChannelRow | undefined> {
  return db.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Channels with the same kind and handle that agents of other owners have proven. */
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

/** @returns false if the channel no longer exists */
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

/** A channel with the names of its agent. */
export type TroubledChannelRow = ChannelRow & Pick<AgentRow, 'display_name' | 'username'>

/**
 * Channels of an owner's agents, except revoked ones, that are stale, failing their checks, or about to expire. In this
 * order: stale (latest first), failing (longest first), expiring (soonest first).
 * @param times `now` and `endingBy` in milliseconds since 1970; channels that expire by `endingBy` are included
 */
export function troubledChannels(
  db: Db,
  ownerId: number,
  { now, endingBy }: { readonly now: number; readonly endingBy: number },
  limit: number,
): Promise<TroubledChannelRow[]> {
  const over = sql`(stale_since is not null or fresh_until <= ${now})`
  const byTrouble = (
    stale: RawBuilder<unknown>,
    failing: RawBuilder<unknown>,
    ending: RawBuilder<unknown>,
  ) =>
    sql`case when ${over} then ${stale} when failing_since is not null then ${failing} else ${ending} end`
  return db
    .selectFrom('agents')
    .innerJoin('channels', 'channels.tail', 'agents.tail')
    .selectAll('channels')
    .select(['agents.display_name', 'agents.username'])
    .where('agents.owner_id', '=', ownerId)
    .where('agents.status', '!=', 'revoked')
    .where('channels.verified_at', 'is not', null)
    .where((eb) =>
      eb.or([
        eb('channels.stale_since', 'is not', null),
        eb('channels.failing_since', 'is not', null),
        eb('channels.fresh_until', '<=', endingBy),
      ]),
    )
    .orderBy(byTrouble(sql`0`, sql`1`, sql`2`))
    .orderBy(
      byTrouble(
        sql`-coalesce(stale_since, fresh_until)`,
        sql.ref('failing_since'),
        sql.ref('fresh_until'),
      ),
    )
    .orderBy('channels.id')
    .limit(limit)
    .execute()
}
