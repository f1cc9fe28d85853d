import { CodedError } from '@countersign/protocol'
import type { Tx } from '../../database/database.ts'
import { enrolmentOf } from './enrolment-table.ts'

/**
 * Call before the key or the owner of an agent changes: the agent of a workload has the key of the workload.
 * @throws CodedError CONFLICT if the agent is enrolled
 */
export async function assertNotEnrolled(tx: Pick<Tx, 'db'>, tail: string): Promise<void> {
  if ((await enrolmentOf(tx.db, tail)) === undefined) return
  throw new CodedError(
    'CONFLICT',
    'This agent is enrolled by a rule: neither its key nor its owner can change. Enrol again with a new key.',
  )
}
