import {
  WEBHOOK_DELIVERY_STATES,
  type WebhookDelivery,
  type WebhookDeliveryState,
} from '@countersign/protocol'
import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { didIn } from '../../agents/did.ts'
import { useService } from '../../agents/use-service.ts'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { deliveriesQuery, pathOf, refreshWebhooks } from './queries.ts'
import { DeliveryMark } from './webhook-mark.tsx'

const route = getRouteApi('/signed-in/webhooks/$webhook')

const FILTERS: readonly [WebhookDeliveryState | null, string][] = [
  [null, 'All'],
  ['pending', 'Waiting'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
]

const PILL =
  'inline-flex min-h-9 items-center rounded-full border border-line px-3 font-medium text-sm text-soft no-underline hover:border-line-strong hover:text-ink aria-[current=page]:border-accent aria-[current=page]:bg-accent-wash aria-[current=page]:text-accent'

/** The deliveries of an endpoint, newest first, with a filter that the URL holds. */
export function DeliveryLog({ webhookId }: { readonly webhookId: string }) {
  const { state: wanted } = route.useSearch()
  const state = WEBHOOK_DELIVERY_STATES.find((each) => each === wanted) ?? null
  const list = useInfiniteQuery({
    ...deliveriesQuery(webhookId, state),
    placeholderData: keepPreviousData,
  })
  const deliveries = list.data?.pages.flatMap((page) => page.deliveries) ?? []
  return (
    <Section
      title="Delivery log"
      lead="Of the last 30 days, newest first. Deliveries are made in the order of the events."
    >
      <nav aria-label="State of deliveries" className="flex flex-wrap gap-2">
        {FILTERS.map(([each, label]) => (
          <Link
            key={label}
            to="/webhooks/$webhook"
            params={{ webhook: webhookId }}
            search={each === null ? {} : { state: each }}
            resetScroll={false}
            activeOptions={{ exact: true }}
            className={PILL}
          >
            {label}
          </Link>
        ))}
      </nav>
      <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && (
        <>
          <Loading what="the delivery log" />
          <Skeleton className="h-40" />
        </>
      )}
      {list.data !== undefined && deliveries.length === 0 && <p>No deliveries</p>}
      {deliveries.length > 0 && (
        <ol
          aria-busy={list.isPlaceholderData}
          className={`flex flex-col divide-y divide-line ${list.isPlaceholderData ? 'opacity-60' : ''}`}
        >
          {deliveries.map((delivery) => (
            <Item key={delivery.id} webhookId={webhookId} delivery={delivery} />
          ))}
        </ol>
      )}
      <NextPageButton list={list}>Show older deliveries</NextPageButton>
    </Section>
  )
}

interface ItemProps {
  readonly webhookId: string
  readonly delivery: WebhookDelivery
}

function Item({ webhookId, delivery }: ItemProps) {
  const { id, type, state, occurredAt, problem } = delivery
  const { shortName } = useService()
  const queries = useQueryClient()
  const did = didIn(shortName, delivery)
  const redeliver = useAction(async () => {
    const path = `${pathOf(webhookId)}/deliveries/${encodeURIComponent(id)}/redeliver`
    const result = await send<WebhookDelivery>('POST', path)
    toast(result.problem ?? `The endpoint has accepted the delivery with ${result.status}.`)
    await refreshWebhooks(queries)
  })
  return (
    <li className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 py-4 first:pt-0 last:pb-0">
      <div className="flex min-w-0 flex-col gap-1">
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
          <code className="font-semibold">{type}</code>
          <DeliveryMark {...delivery} />
        </p>
        {did !== null && (
          <Link
            to="/agents/$did"
            params={{ did }}
            className="wrap-anywhere w-fit font-mono text-accent text-sm underline"
          >
            {did}
          </Link>
        )}
        <p className="text-soft text-sm">
          <DateTime at={occurredAt} as="minute" /> · {attemptsText(delivery)}
        </p>
        {problem !== null && <p className="wrap-anywhere text-sm">{problem}</p>}
        <p className="wrap-anywhere font-mono text-soft text-xs">{id}</p>
        <ErrorNote error={redeliver.error} />
      </div>
      {state !== 'pending' && (
        <Button
          size="small"
          pending={redeliver.pending}
          aria-label={`Redeliver ${type} ${id}`}
          onClick={redeliver.run}
        >
          Redeliver
        </Button>
      )}
    </li>
  )
}

function attemptsText({ attempts, status, durationMs }: WebhookDelivery): string {
  if (attempts === 0) return 'not sent yet'
  const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const answer = status === null ? 'no response' : `HTTP ${status}`
  return `${count} · ${answer}${durationMs === null ? '' : ` · ${durationMs} ms`}`
}
