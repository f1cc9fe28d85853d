import { AGENT_STATUSES, type Grade } from '@countersign/protocol'
import { getRouteApi } from '@tanstack/react-router'
import type { AgentsFilter } from '../../agents/queries.ts'

const route = getRouteApi('/signed-in/agents')

export const GRADES: readonly Grade[] = ['A', 'B', 'C', 'D', 'E']

/** The filter as the address has it: it can be kept, sent, and gone back to. What makes no sense is left out. */
export function useAgentsFilter(): AgentsFilter {
  const { search, status, grade } = route.useSearch()
  return filterOf({
    search: search?.slice(0, 128),
    status: AGENT_STATUSES.find((each) => each === status),
    grade: GRADES.find((each) => each === grade),
  })
}

/** @returns the filter without what does not filter */
export function filterOf(wanted: { [key in keyof AgentsFilter]: AgentsFilter[key] | undefined }) {
  const { search, status, grade } = wanted
  const filter: AgentsFilter = {
    ...(search && { search }),
    ...(status && { status }),
    ...(grade && { grade }),
  }
  return filter
}
