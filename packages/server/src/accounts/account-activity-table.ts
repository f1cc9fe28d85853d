import { sql } from 'kysely'
import type { Db, Tx } from '../database/database.ts'
import type { AccountActivityRow } from '../database/schema/notification-rows.ts'

/** What is recorded of an account besides events. */
export type AccountActivityType =
  | 'owner.signed_up'
  | 'owner.signed_in'
  /** Of somebody who is signed in at this browser already. */
  | 'owner.sign_in_confirmed'
  | 'owner.sessions_ended'
  | 'owner.sign_in_method_added'
  | 'owner.sign_in_method_removed'
  | 'owner.webhook_created'
  /** It has another URL. */
  | 'owner.webhook_changed'
  | 'owner.grant_issuer_created'
  | 'owner.grant_issuer_deleted'
  | 'owner.grant_issuer_assigned'
  | 'owner.grant_issuer_unassigned'
  | 'owner.scim_token_created'
  | 'owner.scim_token_ended'
  /** Of an organisation, which is verified once the domain names it. */
  | 'owner.domain_set'
  /** An identity provider was connected, or its settings changed. */
  | 'owner.sso_connected'
  /** An account became a member of an organisation. */
  | 'owner.joined'
  /** An account is no longer a member of an organisation. */
  | 'owner.left'
  /** An agent may ask for approvals. */
  | 'owner.approvals_turned_on'
  | 'owner.approvals_turned_off'
  /** The service approves requests of an agent by itself. */
  | 'owner.mandate_created'
  | 'owner.mandate_ended'
  /** An agent got a grant for an authorization server that was not known for it. */
  | 'owner.grant_first_issued'
  /** Somebody reported requests of an agent. */
  | 'owner.report_received'

export interface NewAccountActivity {
  readonly ownerId: number
  readonly type: AccountActivityType
  readonly details: Readonly<Record<string, string | number>>
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}

/** As long as notifications, which say the same. */
const RETENTION_MS = 400 * 86_400_000

/** Records an activity in the transaction of what it describes, and deletes old ones of all owners. */
export async function recordAccountActivity(
  tx: Tx,
  { ownerId, type, details, at }: NewAccountActivity,
): Promise<void> {
  await tx.db
    .insertInto('account_activity')
    .values({
      // Write transactions run one after another.
      id: sql<number>`(select coalesce(max(id), 0) + 1 from account_activity)`,
      owner_id: ownerId,
      after_seq: sql<number>`(select coalesce(max(seq), 0) from events)`,
      at,
      type,
      details: JSON.stringify(details),
    })
    .execute()
  // Afterwards, so that an id never is below one that a reader has seen.
  await tx.db
    .deleteFrom('account_activity')
    .where('at', '<', at - RETENTION_MS)
    .execute()
}

/** A position among the events and activities of an owner: `id` is 0 for an event. */
export interface ActivityPosition {
  readonly seq: number
  readonly id: number
}

/** The activities of an owner before a position, newest first. */
export function accountActivityBefore(
  db: Db,
  ownerId: number,
  { seq, id }: ActivityPosition,
  limit: number,
): Promise<AccountActivityRow[]> {
  return db
    .selectFrom('account_activity')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where((eb) =>
      eb.or([eb('after_seq', '<', seq), eb.and([eb('after_seq', '=', seq), eb('id', '<', id)])]),
    )
    .orderBy('after_seq', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** The activities of an owner after a position, oldest first: those that follow events up to the number `upTo`. */
export function accountActivityAfter(
  db: Db,
  ownerId: number,
  { seq, id }: ActivityPosition,
  upTo: number,
  limit: number,
): Promise<AccountActivityRow[]> {
  return db
    .selectFrom('account_activity')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('after_seq', '<=', upTo)
    .where((eb) =>
      eb.or([eb('after_seq', '>', seq), eb.and([eb('after_seq', '=', seq), eb('id', '>', id)])]),
    )
    .orderBy('after_seq')
    .orderBy('id')
    .limit(limit)
    .execute()
}
