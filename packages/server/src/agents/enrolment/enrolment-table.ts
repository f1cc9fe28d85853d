import type { Db, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { EnrolmentRow } from '../../database/schema/enrolment-rows.ts'

export async function insertEnrolment(tx: Tx, row: EnrolmentRow): Promise<void> {
  await tx.db.insertInto('enrolments').values(row).execute()
}

const selectByTail = prepared<{ tail: string }, EnrolmentRow>((db, param) =>
  db.selectFrom('enrolments').selectAll().where('tail', '=', param('tail')),
)

/** The enrolment of an agent, ended ones included. */
export async function enrolmentOf(db: Db, tail: string): Promise<EnrolmentRow | undefined> {
  return (await selectByTail(db, { tail }))[0]
}

/** Deletes what is stored of the enrolment of agents. */
export async function eraseEnrolments(tx: Tx, tails: readonly string[]): Promise<void> {
  await tx.db.deleteFrom('enrolments').where('tail', 'in', tails).execute()
}

/** Records that an agent was seen, which puts off its end. */
export async function updateSeen(
  tx: Tx,
  tail: string,
  seen: Pick<EnrolmentRow, 'seen_at' | 'ends_at' | 'claims'>,
): Promise<void> {
  await tx.db
    .updateTable('enrolments')
    .set({ ...seen, grace_at: null })
    .where('tail', '=', tail)
    .execute()
}

/** Puts off the end of an agent. */
export async function updateEnd(
  tx: Tx,
  tail: string,
  end: Pick<EnrolmentRow, 'ends_at' | 'grace_at'>,
): Promise<void> {
  await tx.db.updateTable('enrolments').set(end).where('tail', '=', tail).execute()
}

/** @returns whether the agent was enrolled and had not ended */
export async function markEnded(tx: Tx, tail: string, at: number): Promise<boolean> {
  const ended = await tx.db
    .updateTable('enrolments')
    .set({ ended_at: at })
    .where('tail', '=', tail)
    .where('ended_at', 'is', null)
    .returning('tail')
    .execute()
  return ended.length > 0
}

/** How many agents of all rules have not ended. */
export async function countLive(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('enrolments')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** How many agents of a rule have not ended. */
export async function countLiveOfRule(db: Db, ruleId: string): Promise<number> {
  const { count } = await db
    .selectFrom('enrolments')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('rule_id', '=', ruleId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** How many agents of all rules of an owner have not ended, and how many were enrolled since a time. */
export async function countOfOwner(
  db: Db,
  ownerId: number,
  since: number,
): Promise<{ readonly live: number; readonly created: number }> {
  const live = await db
    .selectFrom('enrolments')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('owner_id', '=', ownerId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  const created = await db
    .selectFrom('enrolments')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('owner_id', '=', ownerId)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return { live: Number(live.count), created: Number(created.count) }
}

/** The tails of agents of a rule that have not ended, the oldest first. */
export async function liveTailsOfRule(db: Db, ruleId: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('enrolments')
    .select('tail')
    .where('rule_id', '=', ruleId)
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .orderBy('tail')
    .limit(limit)
    .execute()
  return rows.map(({ tail }) => tail)
}

/** Tokens are stored for longer than they could be accepted, in case a clock is set back. */
const TOKEN_RETENTION_MS = 10 * 60_000

/**
 * Records which key used a token, unless another one did before.
 * @param hash SHA-256 of the token up to its last dot
 * @returns whether it is this key
 */
export async function takeToken(
  tx: Tx,
  token: { readonly hash: Uint8Array; readonly thumbprint: string; readonly expiresAt: number },
  now: number,
): Promise<boolean> {
  await tx.db
    .deleteFrom('enrolment_tokens')
    .where('expires_at', '<', now - TOKEN_RETENTION_MS)
    .execute()
  const { hash, thumbprint, expiresAt: expires_at } = token
  await tx.db
    .insertInto('enrolment_tokens')
    .values({ hash, thumbprint, expires_at })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
  const first = await tx.db
    .selectFrom('enrolment_tokens')
    .select('thumbprint')
    .where('hash', '=', hash)
    .executeTakeFirst()
  return first?.thumbprint === thumbprint
}
