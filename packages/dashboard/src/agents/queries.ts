import type {
  Activity,
  ActivityKind,
  AgentHistory,
  AgentKeys,
  AgentReports,
  HistoryQuery,
  OwnDelegationGroups,
  OwnerAgent,
  OwnerAgents,
  OwnerAgentsQuery,
} from '@countersign/protocol'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { get } from '../api/client.ts'

/** The prefix of all queries about agents, for invalidating them together. */
export const AGENTS_KEY = ['agents'] as const
const LISTS_KEY = [...AGENTS_KEY, 'list'] as const

export type AgentsFilter = Pick<
  OwnerAgentsQuery,
  'search' | 'status' | 'grade' | 'responsible' | 'enrolled' | 'sort'
>

const BEGINNING = null as string | null

/** The API path of one of the owner's agents. */
export function pathOf(did: string): string {
  return `/api/account/agents/${encodeURIComponent(did)}`
}

/** The first page of the unfiltered list of agents, with the counts. */
export function newestAgents(signal?: AbortSignal): Promise<OwnerAgents> {
  return get<OwnerAgents>('/api/account/agents', signal)
}

export const agentsQuery = (filter: AgentsFilter) =>
  infiniteQueryOptions({
    queryKey: [...LISTS_KEY, filter],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ ...filter })
      if (pageParam !== null) query.set('after', pageParam)
      return get<OwnerAgents>(`/api/account/agents?${query}`, signal)
    },
    initialPageParam: BEGINNING,
    getNextPageParam: ({ next }) => next,
  })

export const agentQuery = (did: string) =>
  queryOptions({
    queryKey: [...AGENTS_KEY, 'one', did],
    queryFn: ({ signal }) => get<OwnerAgent>(pathOf(did), signal),
  })

/** The keys of an agent, former and current, and its pending recovery. */
export const keysQuery = (did: string) =>
  queryOptions({
    queryKey: [...AGENTS_KEY, 'keys', did],
    queryFn: ({ signal }) =>
      get<AgentKeys>(`/api/v1/agent/${encodeURIComponent(did)}/keys`, signal),
  })

/** The groups of delegations of an agent that have neither ended nor expired. */
export const delegationGroupsQuery = (did: string) =>
  queryOptions({
    queryKey: [...AGENTS_KEY, 'delegations', did],
    queryFn: ({ signal }) => get<OwnDelegationGroups>(`${pathOf(did)}/delegations`, signal),
  })

/** What sites reported of an agent, newest first. */
export const reportsQuery = (did: string) =>
  infiniteQueryOptions({
    queryKey: [...AGENTS_KEY, 'reports', did],
    queryFn: ({ pageParam, signal }) => {
      const query = pageParam === null ? '' : `?before=${pageParam}`
      return get<AgentReports>(`${pathOf(did)}/reports${query}`, signal)
    },
    initialPageParam: BEGINNING,
    getNextPageParam: ({ next }) => next,
  })

/** @param type only events of it; null: all */
export const historyQuery = (did: string, type: HistoryQuery['type'] | null = null) =>
  infiniteQueryOptions({
    queryKey: [...AGENTS_KEY, 'history', did, type],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        ...(type && { type }),
        ...(pageParam !== null && { before: pageParam }),
      })
      return get<AgentHistory>(`${pathOf(did)}/history?${query}`, signal)
    },
    initialPageParam: BEGINNING,
    getNextPageParam: ({ next }) => next,
  })

export const activityQuery = (kind: ActivityKind | null) =>
  infiniteQueryOptions({
    queryKey: [...AGENTS_KEY, 'activity', kind],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        ...(kind && { kind }),
        ...(pageParam !== null && { before: pageParam }),
      })
      return get<Activity>(`/api/account/activity?${query}`, signal)
    },
    initialPageParam: BEGINNING,
    getNextPageParam: ({ next }) => next,
  })
