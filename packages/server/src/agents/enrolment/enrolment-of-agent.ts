import { CodedError, type OwnerAgent } from '@countersign/protocol'
import { timestamp } from '../../base/timestamp.ts'
import type { Database, Db } from '../../database/database.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'
import { countLive, enrolmentOf } from './enrolment-table.ts'
import { ruleById } from './rule-table.ts'

/** By which rule a workload enrolled an agent, and until when; null: no workload did. */
export async function describeEnrolment(db: Db, tail: string): Promise<OwnerAgent['enrolment']> {
  const enrolment = await enrolmentOf(db, tail)
  if (enrolment === undefined) return null
  const { id, name } = (await ruleById(db, enrolment.rule_id)) as EnrolmentRuleRow
  return {
    rule: { id, name },
    claims: JSON.parse(enrolment.claims) as Record<string, unknown>,
    seenAt: timestamp(enrolment.seen_at),
    endsAt: timestamp(enrolment.ended_at ?? enrolment.ends_at),
  }
}

/** How many enrolled agents have not ended. */
export function enrolledAgents({ db }: { readonly db: Pick<Database, 'read'> }): Promise<number> {
  return countLive(db.read)
}

/**
 * Call before the recovery of an agent's key starts, or its owner changes.
 * @throws CodedError CONFLICT if the agent is enrolled
 */
export async function assertNotEnrolled(db: Db, tail: string): Promise<void> {
  if ((await enrolmentOf(db, tail)) !== undefined) throw enrolled()
}

/** The agent of a workload has the key of the workload. */
export function enrolled(): CodedError {
  return new CodedError(
    'CONFLICT',
    'This agent is enrolled by a rule: neither its key nor its owner can change. Enrol again with a new key.',
  )
}
