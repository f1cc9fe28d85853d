import type { Card, Identity, Transfer, Transfers } from '@countersign/protocol'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

/** The other owner may answer, and accepted agents move, while the page is open. */
const REFRESH_MS = 30_000

export const TRANSFERS_PATH = '/api/account/transfers'

export const transfersQuery = queryOptions({
  queryKey: ['transfers'],
  queryFn: ({ signal }) => get<Transfers>(TRANSFERS_PATH, signal),
  refetchInterval: ({ state }) => (state.data?.transfers.some(isOpen) ? REFRESH_MS : false),
})

/** Whether a transfer may still take effect. */
export function isOpen({ state }: Transfer): boolean {
  return state === 'offered' || state === 'accepted'
}

/** The public card of an agent, which may belong to another owner. */
export const cardQuery = (did: string) =>
  queryOptions({
    queryKey: ['card', did],
    queryFn: ({ signal }) => get<Card>(`/api/agents/${encodeURIComponent(did)}/card`, signal),
    staleTime: 60_000,
  })

/** Loads transfers, agents and notifications again. */
export function refreshTransfers(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries()
}

/** The identity of an organisation that the person is an admin of, while they act for their own account. */
export const identityOfQuery = (organisation: string) =>
  queryOptions({
    queryKey: ['identity', organisation],
    queryFn: ({ signal }) =>
      get<Identity>(`/api/identity?${new URLSearchParams({ organisation })}`, signal),
  })
