import { createServer, type Server, type ServerResponse } from 'node:http'
import { Counter, collectDefaultMetrics, Registry as Metrics } from 'prom-client'
import { MetricRegistrar } from './metric-registrar.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { WriteMetrics } from './write-metrics.ts'

/**
 * @param describe registers the metrics of the service
 * @returns renders the metrics of this process in the Prometheus text format
 */
export function metricsOf(
  requests: RequestMetrics,
  writes: WriteMetrics,
  describe: (metrics: MetricRegistrar) => void,
): () => Promise<string> {
  const defaults = processMetrics()
  const metrics = new Metrics()
  describe(new MetricRegistrar(metrics))
  const scrapes = new Counter({
    name: 'countersign_scrapes_total',
    help: 'Number of scrapes',
    registers: [metrics],
  })
  return async () => {
    scrapes.inc()
    const [processText, serviceText] = await Promise.all([defaults.metrics(), metrics.metrics()])
    return processText + serviceText + requests.render() + writes.render()
  }
}

/**
 * Creates the server of `/metrics`, on its own port so that a load balancer does not expose it. Answers 500 if the metrics
 * cannot be rendered.
 * @param text renders the metrics
 * @param onFailure called with the error behind a 500
 */
export function createMetricsServer(
  text: () => Promise<string>,
  onFailure: (error: unknown) => void,
): Server {
  return createServer((request, response) => {
    if (request.url === '/metrics') void answer(response, text, onFailure)
    else response.writeHead(404).end()
  })
}

/** Never rejects: nothing awaits it, and an unhandled rejection would end the process. */
async function answer(
  response: ServerResponse,
  text: () => Promise<string>,
  onFailure: (error: unknown) => void,
): Promise<void> {
  try {
    const body = await text()
    response.writeHead(200, { 'content-type': Metrics.PROMETHEUS_CONTENT_TYPE }).end(body)
  } catch (error) {
    onFailure(error)
    response
      .writeHead(500, { 'content-type': 'text/plain; charset=utf-8' })
      .end('The metrics cannot be read. The log says why.\n')
  }
}

let metrics: Metrics | undefined

/**
 * prom-client's default metrics: CPU, memory, event loop, garbage collection. One registry for the whole process, because
 * the observers behind it cannot be stopped and would keep every stopped service in memory.
 */
function processMetrics(): Metrics {
  if (metrics === undefined) {
    metrics = new Metrics()
    collectDefaultMetrics({ register: metrics })
  }
  return metrics
}
