import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, run, tempDir } from './support/service.ts'
import { needs } from './support/tools.ts'

const FILE = join(ROOT, 'deploy/prometheus/alarms.yml')
const ALARMS = readFileSync(FILE, 'utf8')
const NAMES = [...ALARMS.matchAll(/- alert: (\w+)/g)].map((match) => match[1] as string)

const NODE = 'job="countersign",instance="one"'
const OTHER = 'job="countersign",instance="two"'
const of = (name: string, labels = '') => `${name}{${NODE}${labels === '' ? '' : ','}${labels}}`

/** A value every minute, in promtool's notation; the alarms are looked at after 70. */
const steady = (value: number) => `${value}x75`
const growing = (by: number) => `0+${by}x75`
const unknown = Array.from({ length: 75 }, () => 'NaN').join(' ')
const AT = '70m'

type Series = Readonly<Record<string, string>>

/** For each alarm what makes it fire, and what is as it should be, or nearly not. Nothing else may fire with it. */
const CASES: Readonly<Record<string, { readonly fires: Series; readonly quiet: Series }>> = {
  CountersignDown: one('up', 0, 1),
  CountersignNotReady: {
    fires: { [of('countersign_phase', 'phase="ready"')]: steady(0) },
    quiet: {
      [of('countersign_phase', 'phase="ready"')]: steady(1),
      [of('countersign_phase', 'phase="draining"')]: steady(0),
    },
  },
  CountersignRestarts: {
    // A start every two minutes.
    fires: {
      [of('process_start_time_seconds')]: Array.from(
        { length: 75 },
        (_, i) => Math.floor(i / 2) * 120,
      ).join(' '),
    },
    quiet: { [of('process_start_time_seconds')]: '1x68 2x5' },
  },
  CountersignWorkerEnds: one(
    'countersign_worker_restarts_total',
    '0x68 1x5',
    2,
    'worker="primary"',
  ),
  CountersignLookupsStopped: one('countersign_lookups_available', 0, 1),
  CountersignStale: one('countersign_staleness_seconds', 1.5, 0.3),
  CountersignStatusOld: one('countersign_status_age_seconds', 31, 6),
  CountersignFollowsBehind: {
    fires: {
      [`countersign_event_position{${NODE}}`]: growing(10),
      [`countersign_event_position{${OTHER}}`]: steady(7),
    },
    quiet: {
      [`countersign_event_position{${NODE}}`]: growing(10),
      [`countersign_event_position{${OTHER}}`]: '0 0+10x75',
    },
  },
  CountersignErrors: {
    fires: requests({ 200: 98, 503: 2 }),
    quiet: requests({ 200: 995, 404: 100, 503: 5 }),
  },
  CountersignSlow: {
    fires: latencies({ '0.1': 90, '0.25': 100, '+Inf': 100 }),
    quiet: latencies({ '0.1': 995, '0.25': 1000, '+Inf': 1000 }),
  },
  CountersignLoopDelayed: one('nodejs_eventloop_lag_p99_seconds', 0.2, 0.02),
  CountersignDatabaseUnreachable: one('countersign_database_reachable', 0, 1),
  CountersignWritesFail: {
    fires: { [of('countersign_transactions_total', 'outcome="failed"')]: growing(1) },
    quiet: {
      [of('countersign_transactions_total', 'outcome="failed"')]: steady(3),
      [of('countersign_transactions_total', 'outcome="committed"')]: growing(1000),
    },
  },
  CountersignOutcomeUnknown: one(
    'countersign_transactions_total',
    '0x68 1x5',
    '0x30 1x40',
    'outcome="unknown"',
  ),
  CountersignCommitsSlow: {
    fires: commits({ '0.5': 90, '1': 100, '+Inf': 100 }),
    quiet: commits({ '0.5': 995, '1': 1000, '+Inf': 1000 }),
  },
  CountersignWritesWait: one('countersign_writes_waiting', 800, 256),
  CountersignReadsWait: {
    fires: { [of('countersign_database_connections', 'state="waiting"')]: steady(80) },
    quiet: {
      [of('countersign_database_connections', 'state="waiting"')]: steady(0),
      [of('countersign_database_connections', 'state="busy"')]: steady(80),
    },
  },
  CountersignOverloaded: one(
    'countersign_refused_total',
    growing(100),
    growing(5),
    'reason="claims"',
  ),
  CountersignRateLimits: one(
    'countersign_rate_limited_total',
    growing(3000),
    growing(30),
    'limit="mint"',
  ),
  CountersignRateLimitsNotShared: {
    fires: {
      [`countersign_rate_limits_shared{${NODE}}`]: steady(0),
      [`countersign_rate_limits_shared{${OTHER}}`]: steady(1),
    },
    // A node alone has nobody to share with.
    quiet: { [of('countersign_rate_limits_shared')]: steady(0) },
  },
  CountersignStandbyMissing: one('countersign_commits_satisfied', 0, unknown),
  CountersignStandbyBehind: {
    fires: { [of('countersign_standby_lag_seconds', 'standby="a"')]: steady(60) },
    quiet: { [of('countersign_standby_lag_bytes', 'standby="a"')]: steady(1e6) },
  },
  CountersignDiskFills: one('countersign_data_free_bytes', '9000000000-12000000x75', 2e9),
  CountersignClock: {
    // promtool's clock begins at 0, and so do these.
    fires: { [of('countersign_clock_seconds')]: '20+60x75' },
    quiet: { [of('countersign_clock_seconds')]: '1+60x75' },
  },
  CountersignJobsLate: one('countersign_jobs_late_seconds', 400, unknown),
  CountersignChecksLate: one('countersign_channel_checks_late_seconds', 30_000, 600),
  CountersignChecksFail: {
    fires: { [of('countersign_channel_checks_total', 'outcome="failed"')]: growing(1) },
    quiet: { [of('countersign_channel_checks_total', 'outcome="absent"')]: growing(1) },
  },
  CountersignWebhooksLate: one('countersign_webhook_late_seconds', 400, 30),
  CountersignWebhookFails: {
    fires: {
      [of('countersign_webhook_endpoints', 'owner="operator",state="disabled"')]: steady(1),
    },
    quiet: {
      [of('countersign_webhook_endpoints', 'owner="operator",state="failing"')]: steady(0),
      [of('countersign_webhook_endpoints', 'owner="owners",state="failing"')]: steady(9),
    },
  },
  CountersignEmailsLate: one('countersign_emails_oldest_seconds', 7200, 60),
  CountersignEmailsFail: {
    fires: {
      [of('countersign_emails_total', 'outcome="failed"')]: growing(1),
      [of('countersign_emails_total', 'outcome="sent"')]: steady(5),
    },
    quiet: {
      [of('countersign_emails_total', 'outcome="gave_up"')]: growing(1),
      [of('countersign_emails_total', 'outcome="sent"')]: growing(5),
    },
  },
  CountersignLogHalted: one('countersign_log_halted', 1, 0),
  CountersignLogDamaged: one('countersign_log_damaged', 1, 0),
  CountersignLogNotChecked: one('countersign_log_check_age_seconds', 300_000, 90_000),
  CountersignLogBehind: {
    fires: {
      [of('countersign_log_waiting')]: steady(3),
      [of('countersign_log_size')]: steady(7),
    },
    quiet: {
      [of('countersign_log_waiting')]: steady(3),
      [of('countersign_log_size')]: growing(1),
    },
  },
  CountersignLogNotWitnessed: one('countersign_log_unwitnessed_seconds', growing(60), 9),
  CountersignLogWitnessFails: one(
    'countersign_log_witness_failures',
    growing(1),
    2,
    'witness="w.example"',
  ),
  CountersignWitnessHalted: one('countersign_witness_halted', 1, 0),
  CountersignWitnessedLogForked: {
    fires: { [of('countersign_witness_answers_total', 'outcome="other_root"')]: growing(1) },
    quiet: {
      [of('countersign_witness_answers_total', 'outcome="other_root"')]: steady(1),
      [of('countersign_witness_answers_total', 'outcome="inconsistent"')]: growing(1),
    },
  },
  CountersignAgentReported: one('countersign_report_alarms_total', growing(1), 3),
  CountersignOutOfFiles: {
    fires: { [of('process_open_fds')]: steady(900), [of('process_max_fds')]: steady(1024) },
    quiet: { [of('process_open_fds')]: steady(900), [of('process_max_fds')]: steady(65536) },
  },
  CountersignVersionsDiffer: {
    fires: {
      [`countersign_build_info{${NODE},version="0.1.0"}`]: steady(1),
      [`countersign_build_info{${OTHER},version="0.2.0"}`]: steady(1),
    },
    quiet: {
      [`countersign_build_info{${NODE},version="0.2.0"}`]: steady(1),
      [`countersign_build_info{${OTHER},version="0.2.0"}`]: steady(1),
    },
  },
}

/** One series, with the values that fire the alarm and those that do not; a number stays as it is. */
function one(name: string, fires: number | string, quiet: number | string, labels = '') {
  const series = of(name, labels)
  const valuesOf = (given: number | string) => (typeof given === 'number' ? steady(given) : given)
  return { fires: { [series]: valuesOf(fires) }, quiet: { [series]: valuesOf(quiet) } }
}

/** Growing counters that differ by one label. */
function counters(byLabel: Readonly<Record<string, number>>, named: (label: string) => string) {
  return Object.fromEntries(
    Object.entries(byLabel).map(([label, by]) => [named(label), growing(by)]),
  )
}

function requests(byStatus: Readonly<Record<number, number>>): Series {
  const name = 'http_request_duration_seconds_count'
  return counters(byStatus, (status) => of(name, `status="${status}",route="/x"`))
}

function latencies(byBound: Readonly<Record<string, number>>): Series {
  const labels = 'route="/api/v1/agent/:agent"'
  return counters(byBound, (le) =>
    of('http_request_duration_seconds_bucket', `${labels},le="${le}"`),
  )
}

function commits(byBound: Readonly<Record<string, number>>): Series {
  return counters(byBound, (le) => of('countersign_transaction_seconds_bucket', `le="${le}"`))
}

test('every alarm fires in its case only, and none without one', needs('promtool'), async (t) => {
  assert.deepEqual(Object.keys(CASES).toSorted(), NAMES.toSorted())
  const dir = tempDir(t)
  cpSync(FILE, join(dir, 'alarms.yml'))
  const well = Object.values(CASES).flatMap(({ quiet }) => Object.entries(quiet))
  assert.equal(new Set(well.map(([name]) => name)).size, well.length, 'they can be together')
  const tests = [
    unitTest(Object.fromEntries(well), []),
    // What else is said of nodes makes no others of them.
    unitTest(ofNodes(growing(10), steady(7)), ['CountersignFollowsBehind']),
    unitTest(ofNodes(growing(10), '0 0+10x75'), []),
    ...Object.entries(CASES).map(([name, { fires }]) => unitTest(fires, [name])),
  ]
  // YAML takes JSON.
  const file = join(dir, 'fire.yml')
  writeFileSync(file, JSON.stringify({ rule_files: ['alarms.yml'], tests }))
  const { code, stdout, stderr } = await run('promtool', ['test', 'rules', file])
  assert.equal(code, 0, stdout + stderr)
})

/** What two nodes in Kubernetes, each of two workers, know of the events. */
function ofNodes(one: string, two: string): Series {
  const place = (name: string, worker: number) =>
    `job="countersign",instance="${name}:9464",pod="${name}",node="machine-${name}",worker="${worker}"`
  const rows = [1, 2].flatMap((worker) => [
    [`countersign_event_position{${place('one', worker)}}`, one],
    [`countersign_event_position{${place('two', worker)}}`, two],
  ])
  return Object.fromEntries(rows)
}

function unitTest(series: Series, firing: readonly string[]) {
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: AT,
        exp_samples: firing.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
      },
    ],
  }
}

test('the configuration for Prometheus is valid', needs('promtool'), async () => {
  const config = join(ROOT, 'deploy/prometheus/prometheus.yml')
  const { code, stdout, stderr } = await run('promtool', ['check', 'config', config])
  assert.equal(code, 0, stdout + stderr)
})

test('every alarm has a section in the documentation, and every section an alarm', () => {
  const book = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8')
  const sections = [...book.matchAll(/^### (Countersign\w+)$/gm)].map((match) => match[1])
  assert.deepEqual(sections, NAMES)
  const named = [...ALARMS.matchAll(/runbook: docs\/monitoring\.md#(\w+)/g)].map(([, id]) => id)
  assert.deepEqual(
    named,
    NAMES.map((name) => name.toLowerCase()),
  )
})
