import { sql } from 'kysely'
import type { Db, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'

export async function insertRule(tx: Tx, row: EnrolmentRuleRow): Promise<void> {
  await tx.db.insertInto('enrolment_rules').values(row).execute()
}

const selectById = prepared<{ id: string }, EnrolmentRuleRow>((db, param) =>
  db.selectFrom('enrolment_rules').selectAll().where('id', '=', param('id')),
)

/** A rule, deleted ones included. */
export async function ruleById(db: Db, id: string): Promise<EnrolmentRuleRow | undefined> {
  return (await selectById(db, { id }))[0]
}

/** A rule with the number of its agents that are not revoked. */
export type CountedRule = EnrolmentRuleRow & { readonly live: number }

const countLive = sql<number>`(select count(*) from enrolments
  where enrolments.rule_id = enrolment_rules.id and enrolments.ended_at is null)`

/** The rules of an owner that are not deleted, newest first. */
export async function rulesOf(db: Db, ownerId: number): Promise<CountedRule[]> {
  const rules = await everyRuleOf(db, ownerId)
  return rules.filter(({ state }) => state !== 'deleted').reverse()
}

/** All rules of an owner, oldest first. */
export async function everyRuleOf(db: Db, ownerId: number): Promise<CountedRule[]> {
  const rows = await db
    .selectFrom('enrolment_rules')
    .selectAll()
    .select(countLive.as('live'))
    .where('owner_id', '=', ownerId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({ ...row, live: Number(row.live) }))
}

/** The rules of all owners that are not deleted, oldest first. */
export async function everyRule(db: Db): Promise<CountedRule[]> {
  const rows = await db
    .selectFrom('enrolment_rules')
    .selectAll()
    .select(countLive.as('live'))
    .where('state', '<>', 'deleted')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({ ...row, live: Number(row.live) }))
}

/** Deletes the rows of an owner's rules, whose agents must have been erased. */
export async function eraseRules(tx: Tx, ownerId: number): Promise<void> {
  await tx.db.deleteFrom('enrolment_rules').where('owner_id', '=', ownerId).execute()
}

export async function updateRule(
  tx: Tx,
  id: string,
  values: Partial<Omit<EnrolmentRuleRow, 'id' | 'owner_id'>>,
): Promise<void> {
  await tx.db.updateTable('enrolment_rules').set(values).where('id', '=', id).execute()
}

/** Records a refusal, at most once a minute, so that a broken workload costs no writes. */
export async function recordRefusal(tx: Tx, id: string, check: string, at: number): Promise<void> {
  await tx.db
    .updateTable('enrolment_rules')
    .set({ refused_at: at, refused_check: check })
    .where('id', '=', id)
    .where((or) => or.or([or('refused_at', 'is', null), or('refused_at', '<', at - 60_000)]))
    .execute()
}

/** Records that the keys of an issuer cannot be read, since when, and why. */
export async function recordKeysFailure(
  tx: Tx,
  id: string,
  problem: string,
  at: number,
): Promise<void> {
  await tx.db
    .updateTable('enrolment_rules')
    .set((eb) => ({
      keys_failed_at: eb.fn.coalesce('keys_failed_at', eb.val(at)),
      keys_problem: problem,
    }))
    .where('id', '=', id)
    .execute()
}
