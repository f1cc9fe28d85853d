import type { OwnerAgent } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { AGENTS_KEY, agentQuery } from './queries.ts'

/**
 * Updates the cached agent.
 * @returns `put` stores the service's answer to a change. `optimistically` shows the expected result while a change
 *   is running, and restores the previous state if it fails.
 */
export function useAgentCache(did: string) {
  const queries = useQueryClient()
  const { queryKey } = agentQuery(did)

  function put(agent: OwnerAgent): void {
    queries.setQueryData(queryKey, agent)
    // Lists and history contain this change too. The agent itself is already up to date.
    void queries.invalidateQueries({
      queryKey: AGENTS_KEY,
      predicate: (query) => query.queryKey[1] !== 'one',
    })
  }

  async function optimistically(
    expected: OwnerAgent,
    change: () => Promise<OwnerAgent>,
  ): Promise<void> {
    await queries.cancelQueries({ queryKey })
    const previous = queries.getQueryData(queryKey)
    queries.setQueryData(queryKey, expected)
    try {
      put(await change())
    } catch (error) {
      queries.setQueryData(queryKey, previous)
      throw error
    }
  }

  return { put, optimistically }
}
