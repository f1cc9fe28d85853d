import type { Logger } from 'pino'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import { describeReadModel } from '../agents/read-model/describe-read-model.ts'
import type { Settings } from '../base/config.ts'
import { VERSION } from '../base/version.ts'
import type { Database } from '../database/database.ts'
import { directoryOf } from '../database/open-database.ts'
import { describeDatabase, describeJobs, describeWrites } from '../http/metrics/database-metrics.ts'
import { createMetricsServer, metricsOf } from '../http/metrics/metrics-server.ts'
import type { RequestMetrics } from '../http/metrics/request-metrics.ts'
import { describeOutcomes, describeProcess, type Phase } from '../http/metrics/service-metrics.ts'
import { WriteMetrics } from '../http/metrics/write-metrics.ts'
import type { Part } from '../http/part.ts'

interface MeasuredDeps {
  readonly settings: Settings
  readonly db: Database
  readonly readModel: AgentReadModel
  readonly metrics: RequestMetrics
  readonly phase: () => Phase
  readonly now: () => number
}

/**
 * Registers all metrics of the service; docs/monitoring.md describes them and their alerts. Transactions are counted from this call on.
 * @returns renders them in the Prometheus text format
 */
export function metricsText(deps: MeasuredDeps, parts: readonly Part[]): () => Promise<string> {
  const { settings, db, readModel, metrics, phase, now } = deps
  const { database, dataDir } = settings
  const writes = new WriteMetrics()
  db.onTransaction((end) => writes.observe(end))
  const build = { version: VERSION, node: process.version, database: database.kind }
  return metricsOf(metrics, writes, (registrar) => {
    const directory = directoryOf(database, dataDir)
    describeProcess(registrar, { build, phase, now, directory })
    describeDatabase(registrar, db)
    describeReadModel(registrar, readModel)
    describeWrites(registrar, writes, db)
    describeJobs(registrar, { db, now })
    for (const part of parts) part.gauges?.(registrar)
    describeOutcomes(registrar, metrics)
  })
}

/**
 * Serves `/metrics` on METRICS_PORT, unless that is off.
 * @param text renders the metrics in the Prometheus text format
 * @throws Error with code EADDRINUSE if the port is taken
 */
export async function listenForMetrics(
  settings: Settings,
  text: () => Promise<string>,
  log: Logger,
  resources: AsyncDisposableStack,
): Promise<void> {
  if (settings.metricsPort === null) return
  const server = createMetricsServer(text, (err) => log.error({ err }, 'the metrics failed'))
  resources.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.metricsPort as number, settings.host, resolve)
  })
}
