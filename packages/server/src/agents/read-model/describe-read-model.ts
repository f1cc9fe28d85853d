import type { DatabaseReport } from '@countersign/protocol'
import { CachedProbe } from '../../base/cached-probe.ts'
import type { Database } from '../../database/database.ts'
import type { MetricRegistrar } from '../../http/metrics/metric-registrar.ts'
import type { AgentReadModel } from './agent-read-model.ts'

/** Registers the metrics of the read model. */
export function describeReadModel(metrics: MetricRegistrar, readModel: AgentReadModel): void {
  metrics.gauge(
    'countersign_agents_in_memory',
    'Agents in the read model',
    () => readModel.agentsInMemory,
  )
  metrics.gauge(
    'countersign_event_position',
    'Number of the last event that responses reflect',
    () => readModel.position,
  )
  metrics.gauge(
    'countersign_staleness_seconds',
    'Age of the node’s knowledge of other nodes’ writes',
    () => readModel.staleness() / 1000,
  )
  metrics.gauge(
    'countersign_lookups_available',
    'Whether lookups are answered; if 0, all get 503',
    () => Number(readModel.isFresh),
  )
}

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
