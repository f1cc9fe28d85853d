import type { Registry as Metrics } from 'prom-client'
import { describeDatabase } from './database-metrics.ts'
import { MetricRegistrar } from './metric-registrar.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { Gauges } from './service-gauges.ts'

const PHASES = ['starting', 'ready', 'draining'] as const

/** Registers all metrics of the service except the histograms. docs/operating.md describes them and their alerts. */
export function registerServiceMetrics(
  registry: Metrics,
  requests: RequestMetrics,
  gauges: Gauges,
): void {
  const metrics = new MetricRegistrar(registry)
  describeProcess(metrics, gauges)
  describeDatabase(metrics, gauges)
  describeReadModel(metrics, gauges)
  describeWrites(metrics, gauges)
  describeJobs(metrics, gauges)
  describeLoadShedding(metrics, gauges)
  describeRateLimits(metrics, gauges)
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
}

function describeProcess(
  metrics: MetricRegistrar,
  { build, phase, clock, freeBytes }: Gauges,
): void {
  metrics.gauge('countersign_clock_seconds', 'What the clock says, in seconds since 1970', clock)
  metrics.gauge('countersign_data_free_bytes', 'What is free on the disk of the data', freeBytes)
  metrics.labelledGauge('countersign_build_info', 'What runs here', Object.keys(build), () => [
    [build, 1],
  ])
  metrics.labelledGauge('countersign_phase', 'The phase that the process is in', ['phase'], () =>
    PHASES.map((each) => [{ phase: each }, each === phase() ? 1 : 0] as const),
  )
}

function describeReadModel(metrics: MetricRegistrar, { readModel }: Gauges): void {
  metrics.gauge(
    'countersign_agents_in_memory',
    'Agents that the read model holds',
    () => readModel().agents,
  )
  metrics.gauge(
    'countersign_event_position',
    'The number of the last event that shows in answers',
    () => readModel().position,
  )
  metrics.gauge(
    'countersign_staleness_seconds',
    'For how long what other nodes write has not been heard of',
    () => readModel().secondsStale,
  )
  metrics.gauge(
    'countersign_vouches',
    'Whether lookups are answered: where it is 0, all get 503',
    () => Number(readModel().isFresh),
  )
}

function describeWrites(metrics: MetricRegistrar, { writes, waitingWrites }: Gauges): void {
  metrics.gauge(
    'countersign_writes_waiting',
    'Writes that have been asked for and not answered',
    waitingWrites,
  )
  metrics.labelledCounter(
    'countersign_writes_total',
    'Writes, by what became of them',
    () => writes.writes.counts,
  )
  metrics.labelledCounter(
    'countersign_transactions_total',
    'Transactions that wrote, by what became of them; each carries the writes that wait',
    () => writes.transactions.counts,
  )
}

function describeLoadShedding(metrics: MetricRegistrar, { loadShedder }: Gauges): void {
  metrics.labelledCounter(
    'countersign_refused_total',
    'Requests refused with 503 because there was no room for more of their kind, or under pressure',
    () => loadShedder.rejected,
    'reason',
  )
  metrics.labelledGauge(
    'countersign_inside',
    'Requests that are being worked on, by room',
    ['room'],
    () => [...loadShedder.active].map(([room, count]) => [{ room }, count] as const),
  )
}

function describeRateLimits(metrics: MetricRegistrar, { rateLimiter }: Gauges): void {
  if (rateLimiter === null) return
  metrics.labelledCounter(
    'countersign_rate_limited_total',
    'Requests refused with 429, by limit',
    () => rateLimiter.rejected,
    'limit',
  )
  metrics.gauge(
    'countersign_rate_limits_shared',
    'Whether limits are counted by all nodes together: where it is 0, each counts for itself',
    () => Number(rateLimiter.isShared),
  )
}

function describeJobs(metrics: MetricRegistrar, gauges: Gauges): void {
  metrics.gauge('countersign_jobs_due', 'Jobs that should have been done by now', gauges.jobsDue)
  metrics.gauge(
    'countersign_jobs_late_seconds',
    'How late the job is that has been due longest',
    gauges.jobsLate,
  )
  metrics.labelledCounter(
    'countersign_channel_checks_total',
    'Checks of channels that the service made by itself, by how they ended',
    gauges.channelChecks,
  )
  metrics.gauge(
    'countersign_channel_checks_late_seconds',
    'How late the channel is that has been due longest',
    gauges.channelChecksLate,
  )
  if (gauges.emails === null) return
  metrics.gauge('countersign_emails_queued', 'E-mails that are not sent yet', gauges.emails.queued)
  metrics.labelledCounter(
    'countersign_emails_total',
    'Attempts to send an e-mail, by outcome',
    gauges.emails.outcomes,
  )
}
