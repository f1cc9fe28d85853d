import { quantile, type RowPlan } from './panel-plan.ts'

/** Panels that explain a symptom: internals of the service. */
export const INTERNALS: readonly RowPlan[] = [
  {
    title: 'Staleness and clock',
    panels: [
      {
        title: 'Staleness',
        unit: 's',
        queries: [['{{instance}} {{worker}}', 'countersign_staleness_seconds{$I}']],
        description:
          'Time since a process last knew all writes of the others. MAX_STALENESS is the limit.',
      },
      {
        title: 'Events behind the most recent process',
        unit: 'short',
        queries: [
          [
            '{{instance}} {{worker}}',
            'scalar(max(countersign_event_position{$I})) - countersign_event_position{$I}',
          ],
        ],
      },
      {
        title: 'Phase',
        unit: 'short',
        queries: [['{{phase}}', 'sum by (phase) (countersign_phase{$I})']],
      },
      {
        title: 'Clock difference',
        unit: 's',
        queries: [
          [
            '{{instance}}',
            'countersign_clock_seconds{$I} - timestamp(countersign_clock_seconds{$I})',
          ],
        ],
      },
    ],
  },
  {
    title: 'Writes',
    panels: [
      {
        title: 'Writes by outcome',
        unit: 'ops',
        queries: [['{{outcome}}', 'sum by (outcome) (rate(countersign_writes_total{$I}[$R]))']],
      },
      {
        title: 'Transactions by outcome',
        unit: 'ops',
        queries: [
          ['{{outcome}}', 'sum by (outcome) (rate(countersign_transactions_total{$I}[$R]))'],
        ],
      },
      {
        title: 'Duration of commits',
        unit: 's',
        queries: [
          ['p50', quantile(0.5, 'le', 'countersign_transaction_seconds_bucket{$I}')],
          ['p99', quantile(0.99, 'le', 'countersign_transaction_seconds_bucket{$I}')],
        ],
      },
      {
        title: 'Writes in each commit',
        unit: 'short',
        queries: [
          [
            'mean',
            'sum(rate(countersign_writes_total{outcome="committed",$I}[$R])) / sum(rate(countersign_transactions_total{outcome="committed",$I}[$R]))',
          ],
        ],
      },
      {
        title: 'Waiting writes',
        unit: 'short',
        queries: [['{{instance}} {{worker}}', 'countersign_writes_waiting{$I}']],
      },
    ],
  },
  {
    title: 'Database',
    panels: [
      {
        title: 'Primary reachable',
        unit: 'short',
        queries: [['{{instance}} {{worker}}', 'countersign_database_reachable{$I}']],
      },
      {
        title: 'Where acknowledged writes are stored',
        unit: 'short',
        queries: [
          ['{{for}}', 'max by (for) (countersign_commits_wait{$I})'],
          ['available', 'min(countersign_commits_satisfied{$I})'],
        ],
      },
      {
        title: 'Streaming standbys',
        unit: 'short',
        queries: [['streaming', 'max(countersign_standbys_streaming{$I})']],
      },
      {
        title: 'Standby lag in bytes',
        unit: 'bytes',
        queries: [
          ['{{standby}} {{sync}}', 'max by (standby, sync) (countersign_standby_lag_bytes{$I})'],
        ],
      },
      {
        title: 'Standby lag in seconds',
        unit: 's',
        queries: [
          ['{{standby}} {{sync}}', 'max by (standby, sync) (countersign_standby_lag_seconds{$I})'],
        ],
      },
      {
        title: 'Connections for reading',
        unit: 'short',
        queries: [['{{state}}', 'sum by (state) (countersign_database_connections{$I})']],
      },
      {
        title: 'Free disk space',
        unit: 'bytes',
        queries: [['{{instance}}', 'min by (instance) (countersign_data_free_bytes{$I})']],
      },
    ],
  },
  {
    title: 'Overload',
    panels: [
      {
        title: 'Rejected with 503, by reason',
        unit: 'reqps',
        queries: [['{{reason}}', 'sum by (reason) (rate(countersign_refused_total{$I}[$R]))']],
      },
      {
        title: 'Requests in progress, by concurrency limit',
        unit: 'short',
        queries: [['{{limiter}}', 'sum by (limiter) (countersign_inside{$I})']],
      },
      {
        title: 'Rejected with 429, by limit',
        unit: 'reqps',
        queries: [['{{limit}}', 'sum by (limit) (rate(countersign_rate_limited_total{$I}[$R]))']],
      },
      {
        title: 'Rate limits are shared',
        unit: 'short',
        queries: [['{{instance}}', 'countersign_rate_limits_shared{$I}']],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Processor',
        unit: 'percentunit',
        queries: [['{{instance}} {{worker}}', 'rate(process_cpu_seconds_total{$I}[$R])']],
        description: '1 is a core. One process uses little more than one.',
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [
          ['{{instance}} {{worker}}', 'process_resident_memory_bytes{$I}'],
          ['{{instance}} {{worker}} heap', 'nodejs_heap_size_used_bytes{$I}'],
        ],
      },
      {
        title: 'Delay of the event loop',
        unit: 's',
        queries: [
          ['{{instance}} {{worker}} p50', 'nodejs_eventloop_lag_p50_seconds{$I}'],
          ['{{instance}} {{worker}} p99', 'nodejs_eventloop_lag_p99_seconds{$I}'],
        ],
      },
      {
        title: 'Garbage collection',
        unit: 'percentunit',
        queries: [
          [
            '{{instance}} {{worker}}',
            'sum by (instance, worker) (rate(nodejs_gc_duration_seconds_sum{$I}[$R]))',
          ],
        ],
        description: 'Share of time.',
      },
      {
        title: 'Workers',
        unit: 'short',
        queries: [
          ['{{instance}} ready', 'countersign_workers_ready{$I}'],
          ['{{instance}} restarts', 'increase(countersign_worker_restarts_total{$I}[1h])'],
        ],
      },
      {
        title: 'Open files',
        unit: 'short',
        queries: [['{{instance}} {{worker}}', 'process_open_fds{$I}']],
      },
      {
        title: 'Starts',
        unit: 'short',
        queries: [['{{instance}} {{worker}}', 'changes(process_start_time_seconds{$I}[1h])']],
        description: 'In an hour.',
      },
    ],
  },
]
