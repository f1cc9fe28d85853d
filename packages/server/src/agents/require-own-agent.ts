import { CodedError, type Naming, parseDidOrTail, type Tail } from '@countersign/protocol'
import type { AgentRow, Db } from '../core/database/database.ts'
import { agentByTail } from './agent-table.ts'

/** @throws CodedError VALIDATION_ERROR where a path names no agent by DID or tail */
export function tailOf(naming: Naming, reference: string): Tail {
  const tail = parseDidOrTail(naming, reference)
  if (tail !== null) return tail
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent is named by its DID (${naming.didPrefix} and 24 base58 characters) or by those 24 characters.`,
  )
}

/**
 * An agent of an owner. Of another owner's it says what it says of one that does not exist.
 * @throws CodedError NOT_FOUND
 */
export async function requireOwn(db: Db, ownerId: number, tail: Tail): Promise<AgentRow> {
  const row = await agentByTail(db, tail)
  if (row !== undefined && row.owner_id === ownerId) return row
  throw new CodedError('NOT_FOUND', 'You have no agent with this DID.')
}
