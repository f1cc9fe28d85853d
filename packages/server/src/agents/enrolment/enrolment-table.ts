import { sql } from 'kysely'
import type { Db, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { EnrolmentRow, EnrolmentTokenRow } from '../../database/schema/enrolment-rows.ts'

const insert = prepared<EnrolmentRow, object>((db, param) =>
  db.insertInto('enrolments').values({
    tail: param('tail'),
    rule_id: param('rule_id'),
    owner_id: param('owner_id'),
    claims: param('claims'),
    created_at: param('created_at'),
    seen_at: param('seen_at'),
    grace_at: null,
    ends_at: param('ends_at'),
    ended_at: null,
  }),
)

/** Inserts the enrolment of a new agent. */
export async function insertEnrolment(
  tx: Tx,
  row: Omit<EnrolmentRow, 'grace_at' | 'ended_at'>,
): Promise<void> {
  await insert(tx.db, { ...row, grace_at: null, ended_at: null })
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

/** What the limits of new agents count. */
export interface EnrolledAgents {
  /** Agents of the rule that have not ended. */
  readonly ofRule: number
  /** Agents of all rules of the owner that have not ended. */
  readonly ofOwner: number
  /** Agents that all rules of the owner have enrolled since a time. */
  readonly created: number
}

const selectCounts = prepared<
  { ruleId: string; ownerId: number; since: number },
  Record<keyof EnrolledAgents, number>
>((db, param) => {
  const [rule, owner, since] = [param('ruleId'), param('ownerId'), param('since')]
  return {
    compile: () =>
      sql<Record<keyof EnrolledAgents, number>>`select
        (select count(*) from enrolments where rule_id = ${rule} and ended_at is null) as "ofRule",
        (select count(*) from enrolments where owner_id = ${owner} and ended_at is null) as "ofOwner",
        (select count(*) from enrolments where owner_id = ${owner} and created_at > ${since}) as "created"
      `.compile(db),
  }
})

export async function countEnrolled(
  db: Db,
  ruleId: string,
  ownerId: number,
  since: number,
): Promise<EnrolledAgents> {
  const [counts] = await selectCounts(db, { ruleId, ownerId, since })
  const { ofRule, ofOwner, created } = counts as Record<keyof EnrolledAgents, number>
  return { ofRule: Number(ofRule), ofOwner: Number(ofOwner), created: Number(created) }
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

const deleteExpired = prepared<{ before: number }, object>((db, param) =>
  db.deleteFrom('enrolment_tokens').where('expires_at', '<', param('before')),
)

const insertToken = prepared<EnrolmentTokenRow, Pick<EnrolmentTokenRow, 'thumbprint'>>(
  (db, param) =>
    db
      .insertInto('enrolment_tokens')
      .values({
        hash: param('hash'),
        thumbprint: param('thumbprint'),
        expires_at: param('expires_at'),
      })
      // The update changes nothing, and returns the row of the first key.
      .onConflict((conflict) =>
        conflict
          .column('hash')
          .doUpdateSet((eb) => ({ expires_at: eb.ref('excluded.expires_at') })),
      )
      .returning('thumbprint'),
)

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
  const { hash, thumbprint, expiresAt: expires_at } = token
  await deleteExpired(tx.db, { before: now - TOKEN_RETENTION_MS })
  const [first] = await insertToken(tx.db, { hash, thumbprint, expires_at })
  return first?.thumbprint === thumbprint
}
