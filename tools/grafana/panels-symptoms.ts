import { quantile, type RowPlan } from './panel-plan.ts'

const REQUESTS = 'http_request_duration_seconds'
const LOOKUP = 'route="/api/v1/agent/:agent"'

/** Panels of symptoms that callers notice. */
export const SYMPTOMS: readonly RowPlan[] = [
  {
    title: 'Health',
    panels: [
      {
        title: 'Processes ready',
        unit: 'short',
        stat: true,
        queries: [['ready', 'sum(countersign_phase{phase="ready",$I})']],
      },
      {
        title: 'Processes that answer lookups',
        unit: 'short',
        stat: true,
        queries: [['answering', 'sum(countersign_lookups_available{$I})']],
        description: 'The others answer every lookup with 503.',
      },
      {
        title: 'Requests',
        unit: 'reqps',
        stat: true,
        queries: [['all', `sum(rate(${REQUESTS}_count{$I}[$R]))`]],
      },
      {
        title: 'Share of 5xx',
        unit: 'percentunit',
        stat: true,
        queries: [
          [
            '5xx',
            `sum(rate(${REQUESTS}_count{status=~"5..",route!="/readyz",$I}[$R]) or vector(0)) / sum(rate(${REQUESTS}_count{$I}[$R]))`,
          ],
        ],
      },
      {
        title: 'Agents in memory',
        unit: 'short',
        stat: true,
        queries: [['agents', 'max(countersign_agents_in_memory{$I})']],
      },
      {
        title: 'Releases',
        unit: 'short',
        stat: true,
        queries: [
          [
            '{{version}} on {{database}}',
            'count by (version, database) (countersign_build_info{$I})',
          ],
        ],
      },
    ],
  },
  {
    title: 'Traffic',
    panels: [
      {
        title: 'Requests by status',
        unit: 'reqps',
        queries: [['{{status}}', `sum by (status) (rate(${REQUESTS}_count{$I}[$R]))`]],
      },
      {
        title: 'Requests by route',
        unit: 'reqps',
        queries: [
          [
            '{{method}} {{route}}',
            `topk(10, sum by (method, route) (rate(${REQUESTS}_count{$I}[$R])))`,
          ],
        ],
      },
      {
        title: 'Duration of lookups',
        unit: 's',
        queries: [
          ['p50', quantile(0.5, 'le', `${REQUESTS}_bucket{${LOOKUP},$I}`)],
          ['p99', quantile(0.99, 'le', `${REQUESTS}_bucket{${LOOKUP},$I}`)],
        ],
      },
      {
        title: 'p50 by route',
        unit: 's',
        queries: [
          ['{{method}} {{route}}', quantile(0.5, 'le, method, route', `${REQUESTS}_bucket{$I}`)],
        ],
      },
      {
        title: 'p99 by route',
        unit: 's',
        queries: [
          ['{{method}} {{route}}', quantile(0.99, 'le, method, route', `${REQUESTS}_bucket{$I}`)],
        ],
      },
      {
        title: '5xx by route',
        unit: 'reqps',
        queries: [
          [
            '{{status}} {{method}} {{route}}',
            `sum by (status, method, route) (rate(${REQUESTS}_count{status=~"5..",route!="/readyz",$I}[$R]))`,
          ],
        ],
      },
    ],
  },
  {
    title: 'Outcomes',
    panels: [
      {
        title: 'Claims by outcome',
        unit: 'ops',
        queries: [['{{outcome}}', 'sum by (outcome) (rate(countersign_claims_total{$I}[$R]))']],
      },
      {
        title: 'Challenge verifications by outcome',
        unit: 'ops',
        queries: [
          ['{{outcome}}', 'sum by (outcome) (rate(countersign_verifications_total{$I}[$R]))'],
        ],
      },
      {
        title: 'Checks of channels by outcome',
        unit: 'short',
        queries: [
          ['{{outcome}}', 'sum by (outcome) (increase(countersign_channel_checks_total{$I}[1h]))'],
        ],
        description: 'In an hour.',
      },
      {
        title: 'Delayed work',
        unit: 's',
        queries: [
          ['jobs', 'max(countersign_jobs_late_seconds{$I})'],
          ['checks of channels', 'max(countersign_channel_checks_late_seconds{$I})'],
          ['webhooks', 'max(countersign_webhook_late_seconds{$I})'],
        ],
      },
      {
        title: 'Webhook attempts by outcome',
        unit: 'short',
        queries: [
          [
            '{{outcome}}',
            'sum by (outcome) (increase(countersign_webhook_attempts_total{$I}[1h]))',
          ],
        ],
        description: 'In an hour. One broken receiver is enough for failures.',
      },
      {
        title: 'Webhook deliveries that wait',
        unit: 'short',
        queries: [['waiting', 'max(countersign_webhook_backlog{$I})']],
      },
      {
        title: 'Oldest webhook delivery that waits',
        unit: 's',
        queries: [['age', 'max(countersign_webhook_oldest_seconds{$I})']],
        description: 'At most about 3 days: then it is given up.',
      },
      {
        title: 'Webhook endpoints by state',
        unit: 'short',
        queries: [
          ['{{owner}} {{state}}', 'max by (owner, state) (countersign_webhook_endpoints{$I})'],
        ],
      },
      {
        title: 'Age of the status list',
        unit: 's',
        queries: [['age', 'max(countersign_status_age_seconds{$I})']],
        description: 'Gateways that are offline stop to trust certificates if it is too high.',
      },
      {
        title: 'Readers of the status feed',
        unit: 'short',
        queries: [['streams', 'sum(countersign_feed_subscribers{$I})']],
      },
      {
        title: 'Transparency log',
        unit: 'short',
        queries: [
          ['changes without a place', 'max(countersign_log_waiting{$I})'],
          ['halted: {{instance}}', 'countersign_log_halted{$I}'],
        ],
      },
      {
        title: 'Witnesses of the transparency log',
        unit: 'short',
        queries: [
          ['not cosigned: {{witness}}', 'max by (witness) (countersign_log_witness_lag{$I})'],
          ['failures: {{witness}}', 'max by (witness) (countersign_log_witness_failures{$I})'],
          ['refuses: {{witness}}', 'max by (witness) (countersign_log_witness_refuses{$I})'],
        ],
        description: 'Entries that each witness has not cosigned. Empty without witnesses.',
      },
      {
        title: 'Witnessed checkpoints by outcome',
        unit: 'short',
        queries: [
          ['{{outcome}}', 'sum by (outcome) (increase(countersign_witness_answers_total{$I}[1h]))'],
          ['halted: {{instance}}', 'countersign_witness_halted{$I}'],
        ],
        description: 'In an hour, with WITNESS_LOGS. other_root: a log has signed two histories.',
      },
    ],
  },
  {
    title: 'E-mail',
    panels: [
      {
        title: 'Queued e-mails',
        unit: 'short',
        queries: [['queued', 'max(countersign_emails_queued{$I})']],
        description: 'Counted up to 1,000.',
      },
      {
        title: 'Age of the oldest queued e-mail',
        unit: 's',
        queries: [['age', 'max(countersign_emails_oldest_seconds{$I})']],
      },
      {
        title: 'Attempts to send an e-mail by outcome',
        unit: 'short',
        queries: [['{{outcome}}', 'sum by (outcome) (increase(countersign_emails_total{$I}[1h]))']],
        description: 'In an hour.',
      },
    ],
  },
]
