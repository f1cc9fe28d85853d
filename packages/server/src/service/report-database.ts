import type { DatabaseReport } from '@countersign/protocol'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import type { Database } from '../core/database/database.ts'
import { CachedProbe } from '../core/database/postgres/health.ts'

/**
 * What the database behind a node is and does, as far as it says so within a second; asked at most once a second.
 * @returns names of standbys as they call themselves, and no address
 */
export function databaseReporter(
  db: Database,
  readModel: AgentReadModel,
): () => Promise<DatabaseReport> {
  const replica = new CachedProbe(() => readModel.replicaStanding(), 'down')
  return async () => {
    const [state, standing] = await Promise.all([db.state(), replica.get()])
    const { role, commits, standbys } = state
    return {
      kind: role === 'file' ? 'sqlite' : 'postgres',
      role,
      position: readModel.position,
      staleness: Math.round(readModel.staleness()),
      commits: { ...commits },
      standbys: standbys.map((standby) => ({ ...standby })),
      replica: standing,
    }
  }
}
