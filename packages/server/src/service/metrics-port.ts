import type { Logger } from 'pino'
import type { Settings } from '../base/config.ts'
import { createMetricsServer } from '../http/metrics/metrics-server.ts'

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
