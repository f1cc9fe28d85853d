import { type RawBuilder, sql } from 'kysely'
import type { AgentRow, ChannelRow, Db } from '../core/database/database.ts'

export type TroubledChannelRow = ChannelRow & Pick<AgentRow, 'display_name' | 'username'>

/**
 * Channels of an owner's live agents that count no more, whose proof is missing, or whose time ends by a moment; in this
 * order: first what happened last, then what has been missing longest, then what ends first.
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
