import type { ChannelKind } from './kind.ts'

/** Every kind of channel that can be proven here. A new one is a file beside this one and a word in this list. */
export const CHANNEL_KINDS: readonly ChannelKind[] = []
