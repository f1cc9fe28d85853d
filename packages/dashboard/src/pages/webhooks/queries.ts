import type { WebhookDeliveries, WebhookDeliveryState, Webhooks } from '@countersign/protocol'
import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

const BEGINNING = null as string | null
/** Deliveries are made while the page is open. */
const REFRESH_MS = 5000

export const WEBHOOKS_PATH = '/api/account/webhooks'

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => get<Webhooks>(WEBHOOKS_PATH, signal),
  refetchInterval: REFRESH_MS,
})

/** The path of an endpoint in the owners' API. */
export function pathOf(id: string): string {
  return `${WEBHOOKS_PATH}/${encodeURIComponent(id)}`
}

/** The delivery log of an endpoint. @param state null: all deliveries */
export function deliveriesQuery(id: string, state: WebhookDeliveryState | null) {
  return infiniteQueryOptions({
    queryKey: ['webhooks', id, 'deliveries', state],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams()
      if (state !== null) query.set('state', state)
      if (pageParam !== null) query.set('before', pageParam)
      return get<WebhookDeliveries>(`${pathOf(id)}/deliveries?${query}`, signal)
    },
    initialPageParam: BEGINNING,
    getNextPageParam: ({ next }) => next,
    refetchInterval: REFRESH_MS,
  })
}

/** Loads the endpoints and their logs again. */
export function refreshWebhooks(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ queryKey: ['webhooks'] })
}
