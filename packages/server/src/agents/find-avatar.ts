import { CodedError, type Tail } from '@countersign/protocol'
import type { CoreDeps } from '../secrets/core-deps.ts'
import { avatarOf } from './avatar-table.ts'

/**
 * The uploaded picture of an agent, a WebP, and its version id.
 * @throws CodedError NOT_FOUND
 */
export async function findAvatar({ db }: Pick<CoreDeps, 'db'>, tail: Tail) {
  const found = await avatarOf(db.read, tail)
  if (found !== undefined) return found
  throw new CodedError('NOT_FOUND', 'This agent has no uploaded picture. Use its default picture.')
}
