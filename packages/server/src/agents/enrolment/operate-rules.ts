import { CodedError, type EnrolmentRule } from '@countersign/protocol'
import type { Db } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { responsiblePersons } from '../responsible/responsible-person.ts'
import { everyRule, ruleById } from './rule-table.ts'
import { describeRule, endRule, pauseRule, type RuleActor } from './rules.ts'

type OperatorDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>

/** A rule with the id of its owner. */
export type OwnedRule = EnrolmentRule & { readonly ownerId: number }

/** The rules of all owners that are not deleted, the oldest first. */
export async function rulesOfEverybody({
  db,
  site,
}: Pick<OperatorDeps, 'db' | 'site'>): Promise<OwnedRule[]> {
  const rows = await everyRule(db.read)
  const persons = await responsiblePersons(db.read, rows)
  return rows.map((row) => ({ ...describeRule(site, row, persons), ownerId: row.owner_id }))
}

/** Pauses a rule of any owner, who is notified. @throws CodedError NOT_FOUND */
export async function pauseRuleByOperator(deps: OperatorDeps, id: string): Promise<void> {
  await pauseRule(deps, await actorFor(deps.db.read, id), id)
}

/** Pauses a rule of any owner, and has its agents revoked. @returns how many @throws CodedError NOT_FOUND */
export async function endRuleByOperator(
  deps: OperatorDeps,
  id: string,
): Promise<{ readonly ending: number }> {
  return endRule(deps, await actorFor(deps.db.read, id), id)
}

async function actorFor(db: Db, id: string): Promise<RuleActor> {
  const rule = await ruleById(db, id)
  if (rule !== undefined) return { ownerId: rule.owner_id, apiKey: null, isOperator: true }
  throw new CodedError('NOT_FOUND', 'There is no enrolment rule with this id.')
}
