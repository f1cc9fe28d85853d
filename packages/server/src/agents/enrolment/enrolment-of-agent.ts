import type { OwnerAgent } from '@countersign/protocol'
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
