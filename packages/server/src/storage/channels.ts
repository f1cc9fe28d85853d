import type { ChannelRow, Db } from './database.ts'
import { prepared } from './prepared.ts'

const selectOfAgent = prepared<{ tail: string }, ChannelRow>((db, param) =>
  db.selectFrom('channels').selectAll().where('tail', '=', param('tail')).orderBy('verified_at'),
)

export function channelsOfAgent(db: Db, tail: string): Promise<ChannelRow[]> {
  return selectOfAgent(db, { tail })
}

/** Those of every active agent of an owner. */
export function channelsOfActiveAgents(db: Db, ownerId: number): Promise<ChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll('channels')
    .innerJoin('agents', 'agents.tail', 'channels.tail')
    .where('agents.owner_id', '=', ownerId)
    .where('agents.status', '=', 'active')
    .execute()
}

/** Channels in the order of their agents' tails, a page at a time, for loading them all. */
export function channelsAfter(db: Db, after: string, limit: number): Promise<ChannelRow[]> {
  return db
    .selectFrom('channels')
    .selectAll()
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}
