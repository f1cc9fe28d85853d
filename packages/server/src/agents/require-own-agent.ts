import { CodedError, type Naming, parseDidOrTail, type Tail } from '@countersign/protocol'
import type { AgentRow, Db } from '../database/database.ts'
import { agentByTail } from './agent-table.ts'

/**
 * The tail in a path parameter that is a DID or a tail.
 * @throws CodedError VALIDATION_ERROR
 */
export function tailOf(naming: Naming, reference: string): Tail {
  const tail = parseDidOrTail(naming, reference)
  if (tail !== null) return tail
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent is named by its DID (${naming.didPrefix} and 24 base58 characters) or by those 24 characters.`,
  )
}

/**
 * Reads an agent of an owner.
 * @throws CodedError NOT_FOUND if there is no such agent or it belongs to another owner: callers cannot tell which
 */
export async function requireOwn(db: Db, ownerId: number, tail: Tail): Promise<AgentRow> {
  const row = await agentByTail(db, tail)
  if (row !== undefined && row.owner_id === ownerId) return row
  throw new CodedError('NOT_FOUND', 'You have no agent with this DID.')
}
