import type { Registry as Metrics } from 'prom-client'
import { describeDatabase } from './database-metrics.ts'
import type { Gauges } from './gauges-type.ts'
import { Registration } from './registration.ts'
import type { RequestMetrics } from './request-metrics.ts'

const PHASES = ['starting', 'ready', 'draining'] as const

/** Every metric of the service's own but the histograms; docs/operating.md says what the alarms make of them. */
export function registerServiceMetrics(
  metrics: Metrics,
  requests: RequestMetrics,
  gauges: Gauges,
): void {
  const on = new Registration(metrics)
  describeProcess(on, gauges)
  describeDatabase(on, gauges)
  describeReadModel(on, gauges)
  describeWrites(on, gauges)
  describeJobs(on, gauges)
  describeOverload(on, gauges)
  describeRateLimits(on, gauges)
  on.outcomes(
    'countersign_claims_total',
    'Well-formed claims, by outcome',
    () => requests.claims.counts,
  )
  on.outcomes(
    'countersign_verifications_total',
    'Well-formed challenge verifications, by outcome',
    () => requests.verifications.counts,
  )
}

function describeProcess(on: Registration, { build, phase, clock, freeBytes }: Gauges): void {
  on.gauge('countersign_clock_seconds', 'What the clock says, in seconds since 1970', clock)
  on.gauge('countersign_data_free_bytes', 'What is free on the disk of the data', freeBytes)
  on.labelled('countersign_build_info', 'What runs here', Object.keys(build), () => [[build, 1]])
  on.labelled('countersign_phase', 'The phase that the process is in', ['phase'], () =>
    PHASES.map((each) => [{ phase: each }, each === phase() ? 1 : 0] as const),
  )
}

function describeReadModel(on: Registration, { readModel }: Gauges): void {
  on.gauge(
    'countersign_agents_in_memory',
    'Agents that the read model holds',
    () => readModel().agents,
  )
  on.gauge(
    'countersign_event_position',
    'The number of the last event that shows in answers',
    () => readModel().position,
  )
  on.gauge(
    'countersign_staleness_seconds',
    'For how long what other nodes write has not been heard of',
    () => readModel().secondsStale,
  )
  on.gauge('countersign_vouches', 'Whether lookups are answered: where it is 0, all get 503', () =>
    Number(readModel().vouches),
  )
}

function describeWrites(on: Registration, { writes, waitingWrites }: Gauges): void {
  on.gauge(
    'countersign_writes_waiting',
    'Writes that have been asked for and not answered',
    waitingWrites,
  )
  on.outcomes(
    'countersign_writes_total',
    'Writes, by what became of them',
    () => writes.writes.counts,
  )
  on.outcomes(
    'countersign_transactions_total',
    'Transactions that wrote, by what became of them; each carries the writes that wait',
    () => writes.transactions.counts,
  )
}

function describeOverload(on: Registration, { overload }: Gauges): void {
  on.outcomes(
    'countersign_refused_total',
    'Requests refused with 503 because there was no room for more of their kind, or under pressure',
    () => overload.refused,
    'reason',
  )
  on.labelled('countersign_inside', 'Requests that are being worked on, by room', ['room'], () =>
    [...overload.inside].map(([room, count]) => [{ room }, count] as const),
  )
}

function describeRateLimits(on: Registration, { limiter }: Gauges): void {
  if (limiter === null) return
  on.outcomes(
    'countersign_rate_limited_total',
    'Requests refused with 429, by limit',
    () => limiter.refused,
    'limit',
  )
  on.gauge(
    'countersign_rate_limits_shared',
    'Whether limits are counted by all nodes together: where it is 0, each counts for itself',
    () => Number(limiter.isShared),
  )
}

function describeJobs(on: Registration, gauges: Gauges): void {
  on.gauge('countersign_jobs_due', 'Jobs that should have been done by now', gauges.jobsDue)
  on.gauge(
    'countersign_jobs_late_seconds',
    'How late the job is that has been due longest',
    gauges.jobsLate,
  )
  on.outcomes(
    'countersign_channel_checks_total',
    'Checks of channels that the service made by itself, by how they ended',
    gauges.channelChecks,
  )
  on.gauge(
    'countersign_channel_checks_late_seconds',
    'How late the channel is that has been due longest',
    gauges.channelChecksLate,
  )
}
