import { CodedError } from '@countersign/protocol'
import type { Perspective } from '../http/outbound/perspective.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import type { ChannelKind } from './kinds/kind.ts'

/** What the rules on channels depend on. */
export interface ChannelDeps extends Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'> {
  readonly channelSources: ChannelSources
}

/** The kinds of channel that can be proven, and the network perspectives from which they are checked. */
export interface ChannelSources {
  readonly kinds: readonly ChannelKind[]
  readonly perspectives: readonly Perspective[]
}

/** @throws CodedError VALIDATION_ERROR if there is no such kind */
export function getKind({ kinds }: ChannelSources, id: string): ChannelKind {
  const kind = kinds.find((each) => each.id === id)
  if (kind !== undefined) return kind
  throw new CodedError(
    'VALIDATION_ERROR',
    `kind is one of: ${kinds.map((each) => each.id).join(', ')}.`,
  )
}
