import type { EnrolmentRules } from '@countersign/protocol'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

/** Workloads enrol and end while the page is open. */
const REFRESH_MS = 5000

export const RULES_PATH = '/api/account/enrolment/rules'

export const rulesQuery = queryOptions({
  queryKey: ['enrolment-rules'],
  queryFn: ({ signal }) => get<EnrolmentRules>(RULES_PATH, signal),
  refetchInterval: REFRESH_MS,
})

/** The path of a rule in the owners' API. */
export function pathOf(id: string): string {
  return `${RULES_PATH}/${encodeURIComponent(id)}`
}

/** Loads the rules again. */
export function refreshRules(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ queryKey: rulesQuery.queryKey })
}
