import type { OwnerChannel, OwnerChannels } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { AGENTS_KEY } from '../agents/queries.ts'
import { sessionQuery } from '../api/session.ts'
import { channelsQuery } from './queries.ts'

/**
 * What this page keeps of an agent's channels.
 * @returns `put`: after a change, with the service's answer; `drop`: after a removal. Both resolve once the agent, whose grade
 * may be another now, is known anew
 */
export function useChannelCache(did: string) {
  const queries = useQueryClient()
  const { queryKey } = channelsQuery(did)

  async function set(change: (before: readonly OwnerChannel[]) => OwnerChannel[]): Promise<void> {
    await queries.cancelQueries({ queryKey })
    queries.setQueryData<OwnerChannels>(queryKey, (before) => {
      return before && { channels: change(before.channels) }
    })
    // The agent, the lists and the history tell of it too, and every page of what needs its owner.
    void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    await queries.invalidateQueries({
      queryKey: AGENTS_KEY,
      predicate: (query) => query.queryKey[1] !== 'channels',
    })
  }

  return {
    put: (channel: OwnerChannel) =>
      set((before) => {
        const known = before.some(({ id }) => id === channel.id)
        if (!known) return [...before, channel]
        return before.map((each) => (each.id === channel.id ? channel : each))
      }),
    drop: (id: string) => set((before) => before.filter((each) => each.id !== id)),
  }
}
