import { createServer, type Server, type ServerResponse } from 'node:http'
import { Counter, Registry as Metrics } from 'prom-client'
import type { Gauges } from './gauges-type.ts'
import { processMetrics } from './process-metrics.ts'
import type { RequestMetrics } from './request-metrics.ts'
import { registerServiceMetrics } from './service-metrics.ts'

/** What `/metrics` says of this process, in the text format of Prometheus, whenever somebody asks. */
export function metricsOf(requests: RequestMetrics, gauges: Gauges): () => Promise<string> {
  const process = processMetrics()
  const metrics = new Metrics()
  registerServiceMetrics(metrics, requests, gauges)
  const scrapes = new Counter({
    name: 'countersign_scrapes_total',
    help: 'Times that the metrics were read',
    registers: [metrics],
  })
  return async () => {
    scrapes.inc()
    const [ofProcess, ofService] = await Promise.all([process.metrics(), metrics.metrics()])
    return ofProcess + ofService + requests.render() + gauges.writes.render()
  }
}

/**
 * The server of `/metrics`, on a port of its own, so that no balancer shows it to the world. What cannot be read is a 500.
 * @param onFailure told of why
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

/** Never rejects: nobody waits for it, and the service would end. */
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
