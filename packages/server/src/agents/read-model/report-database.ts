import type { DatabaseReport } from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import { CachedProbe } from '../../database/postgres/health.ts'
import type { AgentReadModel } from './agent-read-model.ts'

/**
 * Creates the database report of `/readyz`. The database is queried at most once a second, and waited for at most a second.
 * The report contains the standbys' own names, and no address.
 */
export function databaseReporter(
  db: Database,
  readModel: AgentReadModel,
): () => Promise<DatabaseReport> {
  const replica = new CachedProbe(() => readModel.replicaStatus(), 'down')
  return async () => {
    const [state, replicaStatus] = await Promise.all([db.state(), replica.get()])
    const { role, commits, standbys } = state
    return {
      kind: role === 'file' ? 'sqlite' : 'postgres',
      role,
      position: readModel.position,
      staleness: Math.round(readModel.staleness()),
      commits: { ...commits },
      standbys: standbys.map((standby) => ({ ...standby })),
      replica: replicaStatus,
    }
  }
}
