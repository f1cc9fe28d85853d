import type { SessionState } from '@countersign/protocol'
import type { ChannelDeps } from './channel-deps.ts'

type ChannelNote = SessionState['channelNotes'][number]

/** What an owner is told of their channels on every page: those that need them, the worst first. */
export async function channelNotes(_deps: ChannelDeps, _ownerId: number): Promise<ChannelNote[]> {
  return []
}
