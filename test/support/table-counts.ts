import { DatabaseSync } from 'node:sqlite'
import type { TestService } from './service.ts'

export interface RowCounts {
  readonly agents: number
  readonly usedTokens: number
  /** Neither used nor superseded. */
  readonly liveTokens: number
  readonly claimedEvents: number
}

const COUNTS = `SELECT
  (SELECT count(*) FROM agents) AS agents,
  (SELECT count(*) FROM claim_tokens WHERE used_at IS NOT NULL) AS usedTokens,
  (SELECT count(*) FROM claim_tokens WHERE used_at IS NULL AND superseded_at IS NULL) AS liveTokens,
  (SELECT count(*) FROM events WHERE type = 'agent.claimed') AS claimedEvents`

/** What claims have left in the database, read through a connection of its own. */
export function countRows({ settings }: TestService): RowCounts {
  const db = new DatabaseSync(settings.databaseFile, { readOnly: true })
  try {
    // Rows have a null prototype, which deepEqual would tell apart.
    return { ...db.prepare(COUNTS).get() } as unknown as RowCounts
  } finally {
    db.close()
  }
}
