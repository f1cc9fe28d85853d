import { CodedError } from '@countersign/protocol'
import type { CoreDeps } from '../core/deps.ts'
import type { Perspective } from '../core/network/perspective.ts'
import type { ChannelKind } from './kinds/kind.ts'

export interface ChannelDeps extends Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'> {
  readonly outside: Outside
}

/** @throws CodedError VALIDATION_ERROR */
export function requireKind({ kinds }: Outside, id: string): ChannelKind {
  const kind = kinds.find((each) => each.id === id)
  if (kind !== undefined) return kind
  throw new CodedError(
    'VALIDATION_ERROR',
    `kind is one of: ${kinds.map((each) => each.id).join(', ')}.`,
  )
}

/** What channels are, and from where they are looked at. */
export interface Outside {
  readonly kinds: readonly ChannelKind[]
  readonly perspectives: readonly Perspective[]
}
