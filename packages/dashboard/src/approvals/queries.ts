import type { Mandates, OwnerApproval, OwnerApprovals } from '@countersign/protocol'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { get } from '../api/client.ts'

const PATH = '/api/account/approvals'
export const MANDATES_PATH = '/api/account/mandates'
/** The prefix of all queries about approvals and mandates, for invalidating them together. */
export const APPROVALS_KEY = ['approvals']

/** The stream reports most changes earlier. */
const REFRESH_MS = 60_000
/** Once the time for the decision is over by the clock of this browser, which may be ahead. */
const AT_THE_END_MS = 2_000

/** The API path of an approval. */
export function pathOf(id: string): string {
  return `${PATH}/${encodeURIComponent(id)}`
}

/** @param state only approvals in it; null: all */
export const approvalsQuery = (state: 'pending' | null) =>
  infiniteQueryOptions({
    queryKey: [...APPROVALS_KEY, 'list', state],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        ...(state && { state }),
        ...(pageParam !== null && { before: pageParam }),
      })
      return get<OwnerApprovals>(`${PATH}?${query}`, signal)
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: REFRESH_MS,
  })

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: [...APPROVALS_KEY, 'one', id],
    queryFn: ({ signal }) => get<OwnerApproval>(pathOf(id), signal),
    refetchInterval: ({ state: { data } }) => {
      if (data?.state !== 'pending') return false
      const left = Date.parse(data.expiresAt) - Date.now()
      return Math.min(REFRESH_MS, Math.max(left, AT_THE_END_MS))
    },
  })

export const mandatesQuery = infiniteQueryOptions({
  queryKey: [...APPROVALS_KEY, 'mandates'],
  queryFn: ({ pageParam, signal }) => {
    const query = pageParam === null ? '' : `?${new URLSearchParams({ before: pageParam })}`
    return get<Mandates>(`${MANDATES_PATH}${query}`, signal)
  },
  initialPageParam: null as string | null,
  getNextPageParam: ({ next }) => next,
  refetchInterval: REFRESH_MS,
})
