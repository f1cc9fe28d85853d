import { collectDefaultMetrics, Registry as Metrics } from 'prom-client'

let metrics: Metrics | undefined

/**
 * What prom-client measures of the process: CPU, memory, event loop, garbage collection. One registry a process: the
 * observers behind it have no way to end, and would keep each service that has been stopped in memory.
 */
export function processMetrics(): Metrics {
  if (metrics === undefined) {
    metrics = new Metrics()
    collectDefaultMetrics({ register: metrics })
  }
  return metrics
}
