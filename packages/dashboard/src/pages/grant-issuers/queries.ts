import type { AgentGrants, GrantIssuers } from '@countersign/protocol'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { pathOf as pathOfAgent } from '../../agents/queries.ts'
import { get } from '../../api/client.ts'

export const GRANT_ISSUERS_PATH = '/api/account/grant-issuers'
const KEY = ['grant-issuers'] as const

export const grantIssuersQuery = queryOptions({
  queryKey: KEY,
  queryFn: ({ signal }) => get<GrantIssuers>(GRANT_ISSUERS_PATH, signal),
})

/** The grant issuer of an agent, and the authorization servers for which it got grants. */
export const agentGrantsQuery = (did: string) =>
  queryOptions({
    queryKey: [...KEY, 'agent', did],
    queryFn: ({ signal }) => get<AgentGrants>(`${pathOfAgent(did)}/grants`, signal),
  })

/** Loads the grant issuers, and which agents have them, again. */
export function refreshGrants(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ queryKey: KEY })
}
