import { AGENT_ORDERS, AGENT_STATUSES, type Grade } from '@countersign/protocol'
import { getRouteApi } from '@tanstack/react-router'
import type { AgentsFilter } from '../../agents/queries.ts'
import { organisation } from '../../api/acting-for.ts'

const route = getRouteApi('/signed-in/agents')

export const GRADES: readonly Grade[] = ['A', 'B', 'C', 'D', 'E']

/** Only the agents that workloads have enrolled, or none of them. */
export const ENROLLED = ['only', 'exclude'] as const

/** The id of a membership, or `none`. */
const IS_RESPONSIBLE = /^(none|mb_[1-9A-HJ-NP-Za-km-z]{12})$/

/** The filter from the URL. Invalid values are ignored. */
export function useAgentsFilter(): AgentsFilter {
  const { search, status, grade, responsible, enrolled, sort } = route.useSearch()
  return filterOf({
    search: search?.slice(0, 128),
    status: AGENT_STATUSES.find((each) => each === status),
    grade: GRADES.find((each) => each === grade),
    // The service refuses what is neither, also for a person's own account.
    responsible:
      organisation !== null && IS_RESPONSIBLE.test(responsible ?? '') ? responsible : undefined,
    enrolled: ENROLLED.find((each) => each === enrolled),
    sort: AGENT_ORDERS.find((each) => each === sort && each !== 'newest'),
  })
}

/** Removes unset values, so that they do not appear in the URL. */
export function filterOf(wanted: { [key in keyof AgentsFilter]: AgentsFilter[key] | undefined }) {
  const { search, status, grade, responsible, enrolled, sort } = wanted
  const filter: AgentsFilter = {
    ...(search && { search }),
    ...(status && { status }),
    ...(grade && { grade }),
    ...(responsible && { responsible }),
    ...(enrolled && { enrolled }),
    ...(sort && { sort }),
  }
  return filter
}
