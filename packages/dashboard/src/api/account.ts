import type { Account } from '@countersign/protocol'
import { queryOptions } from '@tanstack/react-query'
import { get } from './client.ts'

export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: ({ signal }) => get<Account>('/api/account', signal),
})
