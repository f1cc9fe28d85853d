import type { Onboarding, OnboardingPatch } from '@countersign/protocol'
import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { get, send } from '../api/client.ts'
import { AGENTS_KEY } from './queries.ts'

const PATH = '/api/account/onboarding'

/** The first steps of the owner. Below the key of agents, because most changes of agents may complete a step. */
export const onboardingQuery = queryOptions({
  queryKey: [...AGENTS_KEY, 'onboarding'],
  queryFn: ({ signal }) => get<Onboarding>(PATH, signal),
  staleTime: 60_000,
})

/** @returns stores a change, such as `{ hidden: true }` */
export function useEditOnboarding(): (patch: OnboardingPatch) => Promise<void> {
  const queries = useQueryClient()
  return async (patch) => {
    queries.setQueryData(onboardingQuery.queryKey, await send<Onboarding>('PATCH', PATH, patch))
  }
}
