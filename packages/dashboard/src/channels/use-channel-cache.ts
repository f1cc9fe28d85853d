import type { OwnerChannel, OwnerChannels } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { AGENTS_KEY } from '../agents/queries.ts'
import { sessionQuery } from '../api/queries.ts'
import { channelsQuery } from './queries.ts'

/**
 * Updates an agent's cached channels.
 * @returns `put` stores the service's answer to a change, `drop` removes a channel. Both resolve after the agent was
 *   refetched, because its grade may have changed.
 */
export function useChannelCache(did: string) {
  const queries = useQueryClient()
  const { queryKey } = channelsQuery(did)

  async function set(change: (channels: readonly OwnerChannel[]) => OwnerChannel[]): Promise<void> {
    await queries.cancelQueries({ queryKey })
    queries.setQueryData<OwnerChannels>(queryKey, (channels) => {
      return channels && { channels: change(channels.channels) }
    })
    // The agent, the lists, the history and the notes on every page may contain this change too.
    void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    await queries.invalidateQueries({
      queryKey: AGENTS_KEY,
      predicate: (query) => query.queryKey[1] !== 'channels',
    })
  }

  return {
    put: (channel: OwnerChannel) =>
      set((channels) => {
        const known = channels.some(({ id }) => id === channel.id)
        if (!known) return [...channels, channel]
        return channels.map((each) => (each.id === channel.id ? channel : each))
      }),
    drop: (id: string) => set((channels) => channels.filter((each) => each.id !== id)),
  }
}
