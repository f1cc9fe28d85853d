import { createServer, type Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Registry as Metrics } from 'prom-client'

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** The requests of one route, method and status. */
export class RequestSeries {
  readonly labels: string
  count = 0
  seconds = 0
  readonly buckets = new Float64Array(BUCKETS.length)

  constructor(route: string, method: string, status: number) {
    this.labels = `route="${route}",method="${method}",status="${status}"`
  }

  observe(milliseconds: number): void {
    const seconds = milliseconds / 1000
    this.count += 1
    this.seconds += seconds
    for (let i = 0; i < BUCKETS.length; i++) {
      if (seconds > (BUCKETS[i] as number)) continue
      this.buckets[i] = (this.buckets[i] as number) + 1
      return
    }
  }
}

/** Requests by route, method and status. Counted in plain numbers, and made into metrics when somebody scrapes. */
export class RequestMetrics {
  readonly #series = new Map<string, RequestSeries>()

  series(route: string, method: string, status: number): RequestSeries {
    const key = `${method} ${status} ${route}`
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const series = new RequestSeries(route, method, status)
    this.#series.set(key, series)
    return series
  }

  /** In the text format of Prometheus. */
  render(): string {
    const name = 'http_request_duration_seconds'
    const lines = [`# HELP ${name} Time from request to response`, `# TYPE ${name} histogram`]
    for (const { labels, count, seconds, buckets } of this.#series.values()) {
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
    requests.series(route, request.method, reply.statusCode).observe(reply.elapsedTime)
    done()
  })
}

/** Figures of the service's own, read when somebody scrapes. */
export interface Gauges {
  readonly agentsInMemory: () => number
  /** How many checks of channels, of those that the service makes by itself, have ended how. */
  readonly channelChecks: () => ReadonlyMap<string, number>
  /** By how many seconds the channel is late that has been due longest. */
  readonly channelChecksLate: () => Promise<number>
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
  countChannelChecks(metrics, gauges)
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

function countChannelChecks(metrics: Metrics, gauges: Gauges): void {
  new Counter({
    name: 'countersign_channel_checks_total',
    help: 'Checks of channels that the service made by itself, by how they ended',
    labelNames: ['outcome'],
    registers: [metrics],
    collect() {
      this.reset()
      for (const [outcome, count] of gauges.channelChecks()) this.inc({ outcome }, count)
    },
  })
  new Gauge({
    name: 'countersign_channel_checks_late_seconds',
    help: 'How late the channel is that has been due longest',
    registers: [metrics],
    async collect() {
      this.set(await gauges.channelChecksLate().catch(() => Number.NaN))
    },
  })
}
