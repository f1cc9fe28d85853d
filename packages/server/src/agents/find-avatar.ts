import { CodedError, type Tail } from '@countersign/protocol'
import type { CoreDeps } from '../core/deps.ts'
import { avatarOf } from './avatar-table.ts'

/**
 * The picture that an agent was given, and its name among those that there have been.
 * @throws CodedError NOT_FOUND
 */
export async function findAvatar({ db }: Pick<CoreDeps, 'db'>, tail: Tail) {
  const found = await avatarOf(db.read, tail)
  if (found !== undefined) return found
  throw new CodedError('NOT_FOUND', 'This agent was given no picture. There is a drawn one.')
}
