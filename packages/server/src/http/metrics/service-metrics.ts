import type { Registry as Metrics } from 'prom-client'
import type { Part } from '../part.ts'
import { describeDatabase } from './database-metrics.ts'
import { MetricRegistrar } from './metric-registrar.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { Gauges, WitnessStats } from './service-gauges.ts'

const PHASES = ['starting', 'ready', 'draining'] as const

/** Registers all metrics of the service except the histograms. docs/monitoring.md describes them and their alerts. */
export function registerServiceMetrics(
  registry: Metrics,
  requests: RequestMetrics,
  gauges: Gauges,
  parts: { readonly webhooks: Part; readonly cosigning: Part },
): void {
  const metrics = new MetricRegistrar(registry)
  describeProcess(metrics, gauges)
  describeDatabase(metrics, gauges)
  describeReadModel(metrics, gauges)
  describeWrites(metrics, gauges)
  describeJobs(metrics, gauges)
  parts.webhooks.gauges?.(metrics)
  describeStatus(metrics, gauges)
  describeLoadShedding(metrics, gauges)
  describeRateLimits(metrics, gauges)
  describeLog(metrics, gauges)
  parts.cosigning.gauges?.(metrics)
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
}

function describeProcess(
  metrics: MetricRegistrar,
  { build, phase, clock, freeBytes }: Gauges,
): void {
  metrics.gauge('countersign_clock_seconds', 'Clock, in seconds since 1970', clock)
  metrics.gauge('countersign_data_free_bytes', 'Free space on the data disk', freeBytes)
  metrics.labelledGauge('countersign_build_info', 'Version', Object.keys(build), () => [[build, 1]])
  metrics.labelledGauge('countersign_phase', 'Phase of the process', ['phase'], () =>
    PHASES.map((each) => [{ phase: each }, each === phase() ? 1 : 0] as const),
  )
}

function describeReadModel(metrics: MetricRegistrar, { readModel }: Gauges): void {
  metrics.gauge(
    'countersign_agents_in_memory',
    'Agents in the read model',
    () => readModel().agents,
  )
  metrics.gauge(
    'countersign_event_position',
    'Number of the last event that responses reflect',
    () => readModel().position,
  )
  metrics.gauge(
    'countersign_staleness_seconds',
    'Age of the node’s knowledge of other nodes’ writes',
    () => readModel().secondsStale,
  )
  metrics.gauge(
    'countersign_lookups_available',
    'Whether lookups are answered; if 0, all get 503',
    () => Number(readModel().isFresh),
  )
}

function describeWrites(metrics: MetricRegistrar, { writes, waitingWrites }: Gauges): void {
  metrics.gauge('countersign_writes_waiting', 'Pending writes', waitingWrites)
  metrics.labelledCounter(
    'countersign_writes_total',
    'Writes, by outcome',
    () => writes.writes.counts,
  )
  metrics.labelledCounter(
    'countersign_transactions_total',
    'Write transactions, by outcome; each carries all pending writes',
    () => writes.transactions.counts,
  )
}

function describeLoadShedding(metrics: MetricRegistrar, { loadShedder }: Gauges): void {
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
    'Whether all nodes count together; if 0, each counts on its own',
    () => Number(rateLimiter.isShared),
  )
}

function describeStatus(
  metrics: MetricRegistrar,
  { statusAgeSeconds, feedSubscribers }: Gauges,
): void {
  metrics.gauge(
    'countersign_status_age_seconds',
    'Age of the newest state that was signed for status lists and their feed',
    statusAgeSeconds,
  )
  metrics.gauge('countersign_feed_subscribers', 'Open streams of the status feed', feedSubscribers)
}

function describeLog(metrics: MetricRegistrar, { transparencyLog }: Gauges): void {
  const { size, waiting, isHalted, witnesses } = transparencyLog
  metrics.gauge(
    'countersign_log_size',
    'Entries under the checkpoint of the transparency log',
    size,
  )
  metrics.gauge('countersign_log_waiting', 'Changes that wait for their place in the log', waiting)
  metrics.gauge(
    'countersign_log_halted',
    'Whether the transparency log is neither signed nor served: its data are not those that were signed',
    () => Number(isHalted()),
  )
  if (witnesses !== null) describeWitnesses(metrics, witnesses)
}

function describeWitnesses(
  metrics: MetricRegistrar,
  { reports, waitingSeconds }: NonNullable<Gauges['transparencyLog']['witnesses']>,
): void {
  metrics.gauge(
    'countersign_log_unwitnessed_seconds',
    'How long a signed checkpoint has been waiting for the cosignatures of the quorum',
    waitingSeconds,
  )
  const gauge = (name: string, help: string, read: (each: WitnessStats) => number) =>
    metrics.labelledGauge(`countersign_log_witness_${name}`, help, ['witness'], () =>
      reports().map((each) => [{ witness: each.name }, read(each)] as const),
    )
  gauge('lag', 'Entries of the log that a witness has not cosigned', ({ lag }) => lag)
  gauge('failures', 'Failures of a witness since it has cosigned', ({ failures }) => failures)
  gauge('refuses', 'Whether a witness has cosigned entries that the log does not have', (each) =>
    Number(each.problem !== null),
  )
}

function describeJobs(metrics: MetricRegistrar, gauges: Gauges): void {
  metrics.gauge('countersign_jobs_due', 'Overdue jobs', gauges.jobsDue)
  metrics.gauge('countersign_jobs_late_seconds', 'Delay of the most overdue job', gauges.jobsLate)
  metrics.labelledCounter(
    'countersign_channel_checks_total',
    'Scheduled channel checks, by outcome',
    gauges.channelChecks,
  )
  metrics.gauge(
    'countersign_channel_checks_late_seconds',
    'Delay of the most overdue channel check',
    gauges.channelChecksLate,
  )
  if (gauges.emails === null) return
  metrics.gauge('countersign_emails_queued', 'E-mails that are not sent yet', gauges.emails.queued)
  metrics.gauge(
    'countersign_emails_oldest_seconds',
    'Age of the oldest e-mail that is not sent yet',
    gauges.emails.oldest,
  )
  metrics.labelledCounter(
    'countersign_emails_total',
    'Attempts to send an e-mail, by outcome',
    gauges.emails.outcomes,
  )
}
