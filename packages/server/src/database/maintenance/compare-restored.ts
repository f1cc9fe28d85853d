import { DatabaseSync } from 'node:sqlite'

/** What a restore has taken back. Tails of agents. */
export interface Setback {
  /** Entries of the transparency log. */
  readonly entries: number
  readonly status: readonly string[]
  readonly keys: readonly string[]
  /** Claimed since the backup. */
  readonly agents: readonly string[]
}

const CHANGED = 'from previous.agents old join main.agents new using (tail) where'

/**
 * Compares a database that was restored with the one before it.
 * @returns null if that cannot be read, such as if it is damaged
 */
export function compareRestored(databaseFile: string, previousFile: string): Setback | null {
  const restored = new DatabaseSync(databaseFile)
  try {
    restored.prepare('attach ? as previous').run(previousFile)
    const tails = (query: string) =>
      restored
        .prepare(query)
        .all()
        .map(({ tail }) => String(tail))
    const entries = (schema: 'main' | 'previous') =>
      Number(restored.prepare(`select count(*) as n from ${schema}.log_entries`).get()?.n)
    return {
      entries: Math.max(0, entries('previous') - entries('main')),
      status: tails(`select tail ${CHANGED} old.status <> new.status order by new.seq`),
      keys: tails(`select tail ${CHANGED} old.key_sequence <> new.key_sequence order by new.seq`),
      agents: tails(
        'select tail from previous.agents where tail not in (select tail from main.agents) order by seq',
      ),
    }
  } catch {
    return null
  } finally {
    restored.close()
  }
}
