import type {
  ChannelKindInWords,
  ChannelKinds,
  OwnerChannel,
  OwnerChannels,
} from '@countersign/protocol'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { AGENTS_KEY, pathOf } from '../agents/queries.ts'
import { get } from '../api/client.ts'

const PENDING_MS = 30_000

/** The API path of an agent's channels. */
export function channelsPath(did: string): string {
  return `${pathOf(did)}/channels`
}

/** The API path of a channel. */
export function channelPath(did: string, id: string): string {
  return `${channelsPath(did)}/${encodeURIComponent(id)}`
}

/** The supported kinds of channel, as described by the service. */
export const channelKindsQuery = queryOptions({
  queryKey: ['channel-kinds'],
  queryFn: ({ signal }) => get<ChannelKinds>('/api/account/channel-kinds', signal),
  staleTime: Number.POSITIVE_INFINITY,
})

export const channelsQuery = (did: string) =>
  queryOptions({
    queryKey: [...AGENTS_KEY, 'channels', did],
    queryFn: ({ signal }) => get<OwnerChannels>(channelsPath(did), signal),
    // The event stream reports verified channels, but not unsuccessful checks, so pending channels are polled.
    refetchInterval: ({ state }) => (state.data?.channels.some(isAwaited) ? PENDING_MS : false),
  })

function isAwaited({ state, proof }: OwnerChannel): boolean {
  return state !== 'verified' && proof !== null
}

/** @returns the display name of a kind; its id while the kinds are loading */
export function useKindLabel(): (kind: string) => string {
  const kinds = useQuery(channelKindsQuery).data?.kinds
  return (kind) => kinds?.find(({ id }) => id === kind)?.label ?? kind
}

/** @returns undefined while the kinds are loading */
export function useKind(id: string | undefined): ChannelKindInWords | undefined {
  return useQuery(channelKindsQuery).data?.kinds.find((each) => each.id === id)
}
