import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../database/database.ts'

/** What expires between two times, both in milliseconds since the Unix epoch. */
export interface ExpiryWindow {
  readonly after: number
  readonly until: number
  /** Only what was valid for at least so long in total. */
  readonly minLifetimeMs: number
  /** The threshold for which no notification may exist yet. */
  readonly days: number
}

export interface ExpiringVerification {
  readonly owner_id: number
  readonly provider: string
  readonly expires_at: number
  /** The subject of the warning. */
  readonly subject: string
}

/** Verifications that expire in a window and whose owners have not been warned. */
export async function expiringVerifications(
  db: Db,
  { after, until, minLifetimeMs, days }: ExpiryWindow,
  limit: number,
): Promise<ExpiringVerification[]> {
  const subject = subjectOf(sql.ref('v.provider'), sql.ref('v.expires_at'), days)
  const { rows } = await sql<ExpiringVerification>`
    select v.owner_id, v.provider, v.expires_at, ${subject} as subject
    from identity_verifications v
    where v.expires_at > ${after} and v.expires_at <= ${until}
      and v.expires_at - v.verified_at >= ${minLifetimeMs}
      and not exists (select 1 from notifications n where n.owner_id = v.owner_id
        and n.kind = 'verification_expiring' and n.subject = ${subject})
    order by v.expires_at limit ${limit}`.execute(db)
  return rows
}

export interface ExpiringChannel {
  readonly owner_id: number
  readonly tail: string
  readonly agent_id: string
  readonly channel_id: string
  readonly kind: string
  readonly handle_or_domain: string
  readonly fresh_until: number
  /** The subject of the warning. */
  readonly subject: string
}

/** Channels that count, whose proof expires in a window, and whose owners have not been warned. */
export async function expiringChannels(
  db: Db,
  { after, until, minLifetimeMs, days }: ExpiryWindow,
  limit: number,
): Promise<ExpiringChannel[]> {
  const subject = subjectOf(sql.ref('c.id'), sql.ref('c.fresh_until'), days)
  const { rows } = await sql<ExpiringChannel>`
    select a.owner_id, a.tail, a.agent_id, c.id as channel_id, c.kind, c.handle_or_domain,
      c.fresh_until, ${subject} as subject
    from channels c join agents a on a.tail = c.tail
    where c.fresh_until > ${after} and c.fresh_until <= ${until}
      and c.fresh_until - c.verified_at >= ${minLifetimeMs}
      and c.stale_since is null and a.status <> 'revoked'
      and not exists (select 1 from notifications n where n.owner_id = a.owner_id
        and n.kind = 'channel_expiring' and n.subject = ${subject})
    order by c.fresh_until limit ${limit}`.execute(db)
  return rows
}

function subjectOf(what: RawBuilder<unknown>, at: RawBuilder<unknown>, days: number) {
  return sql<string>`${what} || ':' || cast(${at} as text) || ':' || ${sql.lit(String(days))}`
}
