import type { Identity } from '@countersign/protocol'
import { queryOptions } from '@tanstack/react-query'
import { get } from './client.ts'

export const identityQuery = queryOptions({
  queryKey: ['identity'],
  queryFn: ({ signal }) => get<Identity>('/api/identity', signal),
})
