import { CodedError } from '@countersign/protocol'
import type { OwnerDeps } from '../core/deps.ts'
import type { Outside } from './channel-sources.ts'
import type { ChannelKind } from './kinds/kind.ts'

export type ChannelDeps = Pick<OwnerDeps, 'db' | 'site' | 'now' | 'randomBytes' | 'outside'>

/** @throws CodedError VALIDATION_ERROR */
export function requireKind({ kinds }: Outside, id: string): ChannelKind {
  const kind = kinds.find((each) => each.id === id)
  if (kind !== undefined) return kind
  throw new CodedError(
    'VALIDATION_ERROR',
    `kind is one of: ${kinds.map((each) => each.id).join(', ')}.`,
  )
}
