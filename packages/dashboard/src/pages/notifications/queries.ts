import type { EmailSettings, Notifications } from '@countersign/protocol'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

const BEGINNING = null as string | null
/** How often the count of unread notifications is fetched again. */
const REFRESH_MS = 60_000

export const notificationsQuery = infiniteQueryOptions({
  queryKey: ['notifications'],
  queryFn: ({ pageParam, signal }) => {
    const query = pageParam === null ? '' : `?before=${encodeURIComponent(pageParam)}`
    return get<Notifications>(`/api/account/notifications${query}`, signal)
  },
  initialPageParam: BEGINNING,
  getNextPageParam: ({ next }) => next,
  refetchInterval: REFRESH_MS,
})

export const emailQuery = queryOptions({
  queryKey: ['email'],
  queryFn: ({ signal }) => get<EmailSettings>('/api/account/email', signal),
})
