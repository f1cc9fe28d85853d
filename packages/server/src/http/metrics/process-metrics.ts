import { collectDefaultMetrics, Registry as Metrics } from 'prom-client'

let metrics: Metrics | undefined

/**
 * prom-client's default metrics: CPU, memory, event loop, garbage collection. One registry for the whole process, because
 * the observers behind it cannot be stopped and would keep every stopped service in memory.
 */
export function processMetrics(): Metrics {
  if (metrics === undefined) {
    metrics = new Metrics()
    collectDefaultMetrics({ register: metrics })
  }
  return metrics
}
