import { randomBytes } from 'node:crypto'
import type { Settings } from './config.ts'
import type { Staleness } from './domain/read-model/follower.ts'
import { Registry } from './domain/read-model/registry.ts'
import type { Database } from './storage/database.ts'
import { openReplica } from './storage/postgres-replica.ts'

/**
 * The read model over a database, with the standbys that it may ask. It follows what this process commits.
 * @param elapsed a clock that never goes back, in milliseconds
 */
export async function openReadModel(
  settings: Settings,
  db: Database,
  elapsed: () => number,
  resources: AsyncDisposableStack,
): Promise<Registry> {
  const { replicaUrl, readModelAgents } = settings
  const replica = replicaUrl === null ? null : openReplica(replicaUrl)
  resources.defer(() => replica?.close())
  const staleness = boundOf(settings, elapsed)
  const registry = new Registry(db, readModelAgents, randomBytes, { staleness, replica })
  db.onCommit(() => registry.follow())
  await registry.start()
  return registry
}

/** Where the data are in a file, whoever reads it reads what is there. */
function boundOf(
  { database, maxStalenessSeconds }: Settings,
  elapsed: () => number,
): Staleness | null {
  if (database.kind === 'sqlite') return null
  return { milliseconds: maxStalenessSeconds * 1000, elapsed }
}
