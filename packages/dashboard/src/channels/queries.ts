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

/** Where the channels of an agent are to be asked about and added. */
export function channelsPath(did: string): string {
  return `${pathOf(did)}/channels`
}

/** Where one of them is to be changed. */
export function channelPath(did: string, id: string): string {
  return `${channelsPath(did)}/${encodeURIComponent(id)}`
}

/** The kinds of channel there are: everything that these pages know of a kind. */
export const channelKindsQuery = queryOptions({
  queryKey: ['channel-kinds'],
  queryFn: ({ signal }) => get<ChannelKinds>('/api/account/channel-kinds', signal),
  staleTime: Number.POSITIVE_INFINITY,
})

export const channelsQuery = (did: string) =>
  queryOptions({
    queryKey: [...AGENTS_KEY, 'channels', did],
    queryFn: ({ signal }) => get<OwnerChannels>(channelsPath(did), signal),
    // What is proven is told as it happens; that a proof was looked for in vain is not.
    refetchInterval: ({ state }) => (state.data?.channels.some(isAwaited) ? PENDING_MS : false),
  })

function isAwaited({ state, proof }: OwnerChannel): boolean {
  return state !== 'verified' && proof !== null
}

/** @returns how a kind is called; until that is known, its id */
export function useKindLabel(): (kind: string) => string {
  const kinds = useQuery(channelKindsQuery).data?.kinds
  return (kind) => kinds?.find(({ id }) => id === kind)?.label ?? kind
}

/** @returns the kind of a channel; undefined until it is known */
export function useKind(id: string | undefined): ChannelKindInWords | undefined {
  return useQuery(channelKindsQuery).data?.kinds.find((each) => each.id === id)
}
