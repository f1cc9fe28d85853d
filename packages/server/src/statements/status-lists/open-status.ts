import { deleteOldFeedChanges } from '../../agents/changes/feed-change-table.ts'
import type { AgentReadModel } from '../../agents/read-model/agent-read-model.ts'
import type { Database } from '../../database/database.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { FeedHeads } from './feed-heads.ts'
import { StatusFeed } from './status-feed.ts'
import { StatusState } from './status-state.ts'
import { StatusTokens } from './status-tokens.ts'

/** The status of certificates, as this node publishes it. */
export interface Status {
  readonly state: StatusState
  readonly heads: FeedHeads
  readonly feed: StatusFeed
  readonly tokens: StatusTokens
  /** Changes are kept for 30 days. */
  deleteOldChanges(): Promise<void>
}

/**
 * Loads the status lists and follows their events.
 * @param deps the read model follows the events already; `baseUrl` without a slash at the end
 */
export async function openStatus(deps: {
  readonly db: Database
  readonly readModel: AgentReadModel
  readonly issuerKeys: IssuerKeys
  readonly pepper: Pepper
  readonly baseUrl: string
  readonly now: () => number
  readonly elapsed: () => number
  readonly onError: (error: unknown) => void
}): Promise<Status> {
  const { db, issuerKeys, baseUrl, pepper, now, elapsed } = deps
  const state = await StatusState.open(deps)
  const heads = new FeedHeads({ state, issuerKeys, baseUrl, pepper, db: db.pointReads })
  const feed = new StatusFeed(state, heads, { now, elapsed })
  const tokens = new StatusTokens({ state, issuerKeys, baseUrl, heads, sent: () => feed.sent })
  return { state, heads, feed, tokens, deleteOldChanges: () => deleteOldFeedChanges(db, now()) }
}
