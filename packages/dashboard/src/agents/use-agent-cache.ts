import type { OwnerAgent } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { AGENTS_KEY, agentQuery } from './queries.ts'

/**
 * What this page keeps of an agent.
 * @returns `put`: after a change, with the service's answer; `during`: shows the outcome of a change beforehand, and puts back
 * what was there where it fails
 */
export function useAgentCache(did: string) {
  const queries = useQueryClient()
  const { queryKey } = agentQuery(did)

  function put(agent: OwnerAgent): void {
    queries.setQueryData(queryKey, agent)
    // The lists and the history tell of it too; the agent itself is as new as can be.
    void queries.invalidateQueries({
      queryKey: AGENTS_KEY,
      predicate: (query) => query.queryKey[1] !== 'one',
    })
  }

  async function during(expected: OwnerAgent, change: () => Promise<OwnerAgent>): Promise<void> {
    await queries.cancelQueries({ queryKey })
    const before = queries.getQueryData(queryKey)
    queries.setQueryData(queryKey, expected)
    try {
      put(await change())
    } catch (error) {
      queries.setQueryData(queryKey, before)
      throw error
    }
  }

  return { put, during }
}
