import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { Sender } from '../http/outbound/open-sender.ts'
import { type PartDeps, WORK_MS } from '../http/part.ts'
import type { IssuerKeys } from '../secrets/issuer-keys/issuer-keys.ts'
import { openServiceKey } from '../secrets/service-keys.ts'
import { countEndpointStates, DueDeliveries, measureWaiting } from './due-deliveries.ts'
import { transmitterRoute, webhookRoutes } from './webhook-routes.ts'

/** Endpoints of owners and of the operator, and the deliveries to them. */
export async function openWebhooks(
  context: PartDeps & { readonly sender: Sender; readonly issuerKeys: Pick<IssuerKeys, 'sign'> },
): Promise<OwnersPart> {
  const { db, now, settings, log } = context
  const webhookKey = await openServiceKey({ db, folders: settings }, 'webhook')
  const deps = { ...context, webhookKey }
  const deliveries = new DueDeliveries(deps, (err) =>
    log.error({ err }, 'webhook deliveries failed'),
  )
  const waiting = sharedWhileRunning(() => measureWaiting({ db, now }))
  return {
    routes: (app) => transmitterRoute(app, context.site),
    ownerRoutes: (app, owners) => webhookRoutes(app, { ...owners, deps }),
    gauges(metrics) {
      metrics.counter(
        'countersign_webhook_attempts_total',
        'Attempts to deliver to a webhook endpoint, by outcome and format',
        ['outcome', 'format'],
        () =>
          [...deliveries.outcomes].flatMap(([format, counts]) =>
            [...counts].map(([outcome, count]) => [{ outcome, format }, count] as const),
          ),
      )
      metrics.gauge(
        'countersign_webhook_backlog',
        'Deliveries that wait at active webhook endpoints',
        async () => (await waiting()).count,
      )
      metrics.gauge(
        'countersign_webhook_oldest_seconds',
        'Age of the oldest delivery that waits at an active webhook endpoint',
        async () => (await waiting()).oldestSeconds,
      )
      metrics.gauge(
        'countersign_webhook_late_seconds',
        'Delay of the most overdue attempt to deliver',
        async () => (await waiting()).lateSeconds,
      )
      metrics.labelledGauge(
        'countersign_webhook_endpoints',
        'Webhook endpoints, by whose they are and their state',
        ['owner', 'state'],
        async () =>
          (await countEndpointStates({ db })).map(
            ({ owner, state, count }) => [{ owner, state }, count] as const,
          ),
      )
    },
    timers: [
      { everyMs: WORK_MS, run: () => deliveries.run(), failure: 'webhook deliveries failed' },
    ],
    close: () => deliveries.stop(),
  }
}

/** Callers at the same time share one run: the metrics of a scrape are read together. */
function sharedWhileRunning<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  return () => {
    running ??= read().finally(() => {
      running = null
    })
    return running
  }
}
