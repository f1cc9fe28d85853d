import { statfs } from 'node:fs/promises'
import type { LoadShedder } from '../limits/concurrency-limiter.ts'
import type { RateLimiter } from '../limits/rate-limiter.ts'
import type { MetricRegistrar } from './metric-registrar.ts'
import type { RequestMetrics } from './request-metrics.ts'

const PHASES = ['starting', 'ready', 'draining'] as const

export type Phase = (typeof PHASES)[number]

interface ProcessStats {
  /** Labels of `countersign_build_info`, whose value is always 1. */
  readonly build: Readonly<Record<'version' | 'node' | 'database', string>>
  readonly phase: () => Phase
  /** Milliseconds since 1970, by the clock that decides what has expired. */
  readonly now: () => number
  /** On the disk that holds the data. */
  readonly directory: string
}

export function describeProcess(metrics: MetricRegistrar, stats: ProcessStats): void {
  const { build, phase, now, directory } = stats
  metrics.gauge('countersign_clock_seconds', 'Clock, in seconds since 1970', () => now() / 1000)
  metrics.gauge('countersign_data_free_bytes', 'Free space on the data disk', async () => {
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize
  })
  metrics.labelledGauge('countersign_build_info', 'Version', Object.keys(build), () => [[build, 1]])
  metrics.labelledGauge('countersign_phase', 'Phase of the process', ['phase'], () =>
    PHASES.map((each) => [{ phase: each }, each === phase() ? 1 : 0] as const),
  )
}

/** @param rateLimiter null: rate limits are off */
export function describeLimits(
  metrics: MetricRegistrar,
  loadShedder: LoadShedder,
  rateLimiter: RateLimiter | null,
): void {
  metrics.labelledCounter(
    'countersign_refused_total',
    'Requests refused with 503 because of overload, by reason',
    () => loadShedder.rejected,
    'reason',
  )
  metrics.labelledGauge(
    'countersign_inside',
    'Requests in progress, by concurrency limit',
    ['limiter'],
    () => [...loadShedder.active].map(([limiter, count]) => [{ limiter }, count] as const),
  )
  if (rateLimiter === null) return
  metrics.labelledCounter(
    'countersign_rate_limited_total',
    'Requests refused with 429, by limit',
    () => rateLimiter.rejected,
    'limit',
  )
  metrics.gauge(
    'countersign_rate_limits_shared',
    'Whether all nodes count together; if 0, each counts on its own',
    () => Number(rateLimiter.isShared),
  )
}

export function describeOutcomes(metrics: MetricRegistrar, requests: RequestMetrics): void {
  metrics.labelledCounter(
    'countersign_claims_total',
    'Well-formed claims, by outcome',
    () => requests.claims.counts,
  )
  metrics.labelledCounter(
    'countersign_verifications_total',
    'Well-formed challenge verifications, by outcome',
    () => requests.verifications.counts,
  )
  metrics.labelledCounter(
    'countersign_grants_total',
    'Requests for grants for authorization servers, by outcome',
    () => requests.grants.counts,
  )
  metrics.labelledCounter(
    'countersign_delegations_ended_total',
    'Agents all of whose delegations were ended, by whom',
    () => requests.delegationsEnded.counts,
    'by',
  )
  metrics.labelledCounter(
    'countersign_enrolments_total',
    'Well-formed enrolments of workloads, by outcome, or the check that refused them',
    () => requests.enrolments.counts,
    'result',
  )
  metrics.labelledCounter(
    'countersign_enrolments_ended_total',
    'Enrolled agents that have ended: by their workload, with their rule, or by the service because they were unseen',
    () => requests.enrolmentsEnded.counts,
    'by',
  )
  metrics.labelledCounter(
    'countersign_approvals_total',
    'Approvals that agents have asked for, and decisions about them, by state',
    () => requests.approvals.counts,
    'state',
  )
}
