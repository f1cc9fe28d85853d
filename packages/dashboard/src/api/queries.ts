import type { Account, ApiKeys, Identity, SessionState } from '@countersign/protocol'
import { queryOptions } from '@tanstack/react-query'
import { get } from './client.ts'

/** The signed-in owner and the deployment. Every page needs it. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => get<SessionState>('/api/session', signal),
  staleTime: 60_000,
})

export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: ({ signal }) => get<Account>('/api/account', signal),
})

export const apiKeysQuery = queryOptions({
  queryKey: ['api-keys'],
  queryFn: ({ signal }) => get<ApiKeys>('/api/account/api-keys', signal),
})

export const identityQuery = queryOptions({
  queryKey: ['identity'],
  queryFn: ({ signal }) => get<Identity>('/api/identity', signal),
})
