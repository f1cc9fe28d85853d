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
