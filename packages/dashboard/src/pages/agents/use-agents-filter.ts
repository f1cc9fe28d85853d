import { AGENT_ORDERS, AGENT_STATUSES, type Grade } from '@countersign/protocol'
import { getRouteApi } from '@tanstack/react-router'
import type { AgentsFilter } from '../../agents/queries.ts'

const route = getRouteApi('/signed-in/agents')

export const GRADES: readonly Grade[] = ['A', 'B', 'C', 'D', 'E']

/** The filter from the URL. Invalid values are ignored. */
export function useAgentsFilter(): AgentsFilter {
  const { search, status, grade, sort } = route.useSearch()
  return filterOf({
    search: search?.slice(0, 128),
    status: AGENT_STATUSES.find((each) => each === status),
    grade: GRADES.find((each) => each === grade),
    sort: AGENT_ORDERS.find((each) => each === sort && each !== 'newest'),
  })
}

/** Removes unset values, so that they do not appear in the URL. */
export function filterOf(wanted: { [key in keyof AgentsFilter]: AgentsFilter[key] | undefined }) {
  const { search, status, grade, sort } = wanted
  const filter: AgentsFilter = {
    ...(search && { search }),
    ...(status && { status }),
    ...(grade && { grade }),
    ...(sort && { sort }),
  }
  return filter
}
