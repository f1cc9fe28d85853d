import { randomBytes } from 'node:crypto'
import type { Settings } from '../../config/config.ts'
import type { Database } from '../../core/database/database.ts'
import { openReplica } from '../../core/database/postgres/replica.ts'
import { AgentReadModel } from './agent-read-model.ts'
import type { Staleness } from './follower.ts'

/**
 * The read model over a database, with the standbys that it may ask. It follows what this process commits.
 * @param elapsed a clock that never goes back, in milliseconds
 */
export async function openReadModel(
  settings: Settings,
  db: Database,
  elapsed: () => number,
  resources: AsyncDisposableStack,
): Promise<AgentReadModel> {
  const { replicaUrl, readModelAgents } = settings
  const replica = replicaUrl === null ? null : openReplica(replicaUrl)
  resources.defer(() => replica?.close())
  const staleness = boundOf(settings, elapsed)
  const readModel = new AgentReadModel(db, readModelAgents, randomBytes, { staleness, replica })
  db.onCommit(() => readModel.follow())
  await readModel.start()
  return readModel
}

/** Where the data are in a file, whoever reads it reads what is there. */
function boundOf(
  { database, maxStalenessSeconds }: Settings,
  elapsed: () => number,
): Staleness | null {
  if (database.kind === 'sqlite') return null
  return { milliseconds: maxStalenessSeconds * 1000, elapsed }
}
