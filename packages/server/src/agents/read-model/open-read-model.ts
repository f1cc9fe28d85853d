import { randomBytes } from 'node:crypto'
import type { Settings } from '../../base/config.ts'
import type { Database } from '../../database/database.ts'
import type { Replica } from '../../database/postgres/replica.ts'
import { AgentReadModel } from './agent-read-model.ts'
import type { Staleness } from './follower.ts'

/**
 * Opens the read model of a database, with the replicas of the settings. It applies what this process commits.
 * @param elapsed a monotonic clock, in milliseconds
 * @param resources receives the replica connections to close
 */
export async function openReadModel(
  settings: Settings,
  db: Database,
  elapsed: () => number,
  resources: AsyncDisposableStack,
): Promise<AgentReadModel> {
  const { database, replicaUrl, readModelAgents } = settings
  const replica = replicaUrl === null ? null : await openReplica(replicaUrl)
  resources.defer(() => replica?.close())
  const staleness = stalenessOf(settings, elapsed)
  const file = database.kind === 'sqlite' ? database.file : null
  const options = { staleness, replica, file }
  const readModel = new AgentReadModel(db, readModelAgents, randomBytes, options)
  db.onCommit(() => readModel.follow())
  await readModel.start()
  return readModel
}

/** Loads the driver on demand. */
async function openReplica(url: string): Promise<Replica> {
  const { openReplica } = await import('../../database/postgres/replica.ts')
  return openReplica(url)
}

/** SQLite needs no bound: every read of the file sees the writes of other processes. */
function stalenessOf(
  { database, maxStalenessSeconds }: Settings,
  elapsed: () => number,
): Staleness | null {
  if (database.kind === 'sqlite') return null
  return { milliseconds: maxStalenessSeconds * 1000, elapsed }
}
