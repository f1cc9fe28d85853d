import { createServer, type Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Registry as Metrics } from 'prom-client'

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

interface Series {
  readonly route: string
  readonly method: string
  readonly status: number
  count: number
  seconds: number
  readonly buckets: Float64Array
}

/** Requests by route, method and status. Counted in plain numbers, and made into metrics when somebody scrapes. */
export class RequestMetrics {
  readonly #series = new Map<string, Series>()

  observe(route: string, method: string, status: number, milliseconds: number): void {
    const key = `${method} ${status} ${route}`
    let series = this.#series.get(key)
    if (series === undefined) {
      series = {
        route,
        method,
        status,
        count: 0,
        seconds: 0,
        buckets: new Float64Array(BUCKETS.length),
      }
      this.#series.set(key, series)
    }
    const seconds = milliseconds / 1000
    series.count += 1
    series.seconds += seconds
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound)
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] as number) + 1
  }

  /** In the text format of Prometheus. */
  render(): string {
    const name = 'http_request_duration_seconds'
    const lines = [`# HELP ${name} Time from request to response`, `# TYPE ${name} histogram`]
    for (const { route, method, status, count, seconds, buckets } of this.#series.values()) {
      const labels = `route="${route}",method="${method}",status="${status}"`
      let below = 0
      for (const [i, bound] of BUCKETS.entries()) {
        below += buckets[i] as number
        lines.push(`${name}_bucket{${labels},le="${bound}"} ${below}`)
      }
      lines.push(`${name}_bucket{${labels},le="+Inf"} ${count}`)
      lines.push(`${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${count}`)
    }
    return `${lines.join('\n')}\n`
  }
}

/** Counts every response of an app. The label is the route's pattern, never the address, which strangers choose. */
export function countRequests(app: FastifyInstance, requests: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    requests.observe(route, request.method, reply.statusCode, reply.elapsedTime)
    done()
  })
}

/** Figures of the service's own, read when somebody scrapes. */
export interface Gauges {
  readonly agentsInMemory: () => number
}

/** The server of `/metrics`, on a port of its own, so that no balancer shows it to the world. */
export function createMetricsServer(requests: RequestMetrics, gauges: Gauges): Server {
  const metrics = new Metrics()
  collectDefaultMetrics({ register: metrics })
  new Gauge({
    name: 'countersign_agents_in_memory',
    help: 'Agents that the read model holds',
    registers: [metrics],
    collect() {
      this.set(gauges.agentsInMemory())
    },
  })
  const scrapes = new Counter({
    name: 'countersign_scrapes_total',
    help: 'Times that the metrics were read',
    registers: [metrics],
  })
  return createServer(async (request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    scrapes.inc()
    const text = (await metrics.metrics()) + requests.render()
    response.writeHead(200, { 'content-type': metrics.contentType }).end(text)
  })
}
