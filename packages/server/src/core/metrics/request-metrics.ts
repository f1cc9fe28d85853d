import type { FastifyInstance } from 'fastify'
import { Histogram } from './histogram.ts'
import { Outcomes } from './outcomes.ts'

/** Upper bounds of the latency histogram, in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** The requests of one route, method and status. */
export class RequestSeries {
  readonly labels: string
  readonly seconds = new Histogram(BOUNDS)

  constructor(route: string, method: string, status: number) {
    this.labels = `route="${route}",method="${method}",status="${status}"`
  }

  observe(milliseconds: number): void {
    this.seconds.observe(milliseconds / 1000)
  }
}

/** What the HTTP side counts: in plain numbers, which are made into metrics when somebody scrapes. */
export class RequestMetrics {
  /** Claims and challenge verifications that were well-formed. */
  readonly claims = new Outcomes(['claimed', 'unavailable'])
  readonly verifications = new Outcomes(['verified', 'not_active', 'unavailable'])
  readonly #series = new Map<string, RequestSeries>()

  /** Requests by route, method and status. */
  series(route: string, method: string, status: number): RequestSeries {
    const key = `${method} ${status} ${route}`
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const series = new RequestSeries(route, method, status)
    this.#series.set(key, series)
    return series
  }

  /** The latencies, in the text format of Prometheus. */
  render(): string {
    const name = 'http_request_duration_seconds'
    const lines = [`# HELP ${name} Time from request to response`, `# TYPE ${name} histogram`]
    for (const { labels, seconds } of this.#series.values()) {
      lines.push(...seconds.render(name, labels))
    }
    return `${lines.join('\n')}\n`
  }
}

/** Counts every response of an app. The label is the route's pattern, never the address, which strangers choose. */
export function countRequests(app: FastifyInstance, requests: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? request.refusedPattern ?? 'none'
    requests.series(route, request.method, reply.statusCode).observe(reply.elapsedTime)
    done()
  })
}
