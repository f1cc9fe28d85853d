import type { ChannelKind } from '../../adapters/channels/kind.ts'
import type { Perspective } from '../../adapters/outside/perspective.ts'

/** What channels are, and from where they are looked at. */
export interface Outside {
  readonly kinds: readonly ChannelKind[]
  readonly perspectives: readonly Perspective[]
}
