import type { Perspective } from '../core/network/perspective.ts'
import type { ChannelKind } from './kinds/kind.ts'

/** What channels are, and from where they are looked at. */
export interface Outside {
  readonly kinds: readonly ChannelKind[]
  readonly perspectives: readonly Perspective[]
}
