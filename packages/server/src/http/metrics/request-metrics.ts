import type { FastifyInstance } from 'fastify'
import { Histogram } from './histogram.ts'
import { OutcomeCounter } from './outcome-counter.ts'

/** In seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Of decisions by persons, in seconds. */
const DECISION_BOUNDS = [5, 15, 30, 60, 120, 300, 900, 3600, 14_400, 86_400]

/** The latencies of one route, method and status. */
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

/** Counts requests and outcomes in plain numbers; they become metrics when they are scraped. */
export class RequestMetrics {
  /** Well-formed claims and challenge verifications. */
  readonly claims = new OutcomeCounter(['claimed', 'unavailable'])
  readonly verifications = new OutcomeCounter(['verified', 'not_active', 'unavailable'])
  /** Requests for grants whose body is well-formed. */
  readonly grants = new OutcomeCounter(['issued', 'unavailable'])
  /** By who ended them. */
  readonly delegationsEnded = new OutcomeCounter(['agent', 'owner'])
  /** Well-formed enrolments, by the check that refused them. */
  readonly enrolments = new OutcomeCounter(['created', 'renewed', 'unavailable'])
  /** By what ended them: the workload, a rule that the owner ended, or the service because the agent was unseen. */
  readonly enrolmentsEnded = new OutcomeCounter(['agent', 'owner', 'service'])
  /** Approvals that agents have asked for, and decisions about them. */
  readonly approvals = new OutcomeCounter(['pending', 'approved', 'denied'])
  /** How long agents have waited for a decision, in seconds. */
  readonly approvalDecisions = new Histogram(DECISION_BOUNDS)
  readonly #series = new Map<string, RequestSeries>()

  series(route: string, method: string, status: number): RequestSeries {
    const key = `${method} ${status} ${route}`
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const series = new RequestSeries(route, method, status)
    this.#series.set(key, series)
    return series
  }

  /** Renders the times in the Prometheus text format. */
  render(): string {
    const name = 'http_request_duration_seconds'
    const lines = [`# HELP ${name} Time from request to response`, `# TYPE ${name} histogram`]
    for (const { labels, seconds } of this.#series.values()) {
      lines.push(...seconds.render(name, labels))
    }
    const decisions = 'countersign_approval_decision_seconds'
    lines.push(
      `# HELP ${decisions} Time from the question of an agent to the decision of its owner`,
    )
    lines.push(`# TYPE ${decisions} histogram`, ...this.approvalDecisions.render(decisions))
    return `${lines.join('\n')}\n`
  }
}

/** Counts every response of an app by the route's pattern. Request paths as labels would let clients create series without limit. */
export function countRequests(app: FastifyInstance, requests: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? request.refusedPattern ?? 'none'
    requests.series(route, request.method, reply.statusCode).observe(reply.elapsedTime)
    done()
  })
}
