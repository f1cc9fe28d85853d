import type { SessionState } from '@countersign/protocol'
import { queryOptions } from '@tanstack/react-query'
import { get } from './client.ts'

/** Who is signed in, and where: every page begins with it. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => get<SessionState>('/api/session', signal),
  staleTime: 60_000,
})
