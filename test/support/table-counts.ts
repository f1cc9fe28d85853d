import { withRaw } from './raw-database.ts'
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
  (SELECT count(*) FROM claim_tokens WHERE used_at IS NOT NULL) AS "usedTokens",
  (SELECT count(*) FROM claim_tokens WHERE used_at IS NULL AND superseded_at IS NULL) AS "liveTokens",
  (SELECT count(*) FROM events WHERE type = 'agent.claimed') AS "claimedEvents"`

/** The rows that claims have written, read over a separate connection. */
export async function countRows({ settings }: TestService): Promise<RowCounts> {
  const [counts] = await withRaw(settings, (raw) => raw.all(COUNTS))
  // PostgreSQL returns counts as text, and SQLite rows have a null prototype, which deepEqual would report as a difference.
  const numbers = Object.entries(counts ?? {}).map(([name, count]) => [name, Number(count)])
  return Object.fromEntries(numbers) as RowCounts
}
