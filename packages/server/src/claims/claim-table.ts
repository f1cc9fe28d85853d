import { sql } from 'kysely'
import type {
  AgentRow,
  ClaimTokenRow,
  Db,
  IdentityVerificationRow,
  Tx,
} from '../core/database/database.ts'
import type { NewEvent } from '../core/database/event-table.ts'
import { prepared } from '../core/database/prepared.ts'

/** What many claims at once take in PostgreSQL: an array for each column, so that few statements carry them all. */

export type LiveAgent = Pick<AgentRow, 'public_key' | 'agent_id' | 'owner_id'>

export async function tokensByHash(
  tx: Tx,
  hashes: readonly Uint8Array[],
): Promise<ClaimTokenRow[]> {
  const { rows } = await sql<ClaimTokenRow>`select * from claim_tokens
    where hash = any(${hashes}::bytea[])`.execute(tx.db)
  return rows
}

/** Of the owners to whom tokens were issued. */
export async function verificationsByTokens(
  tx: Tx,
  hashes: readonly Uint8Array[],
): Promise<IdentityVerificationRow[]> {
  const { rows } = await sql<IdentityVerificationRow>`select * from identity_verifications
    where owner_id in (select owner_id from claim_tokens where hash = any(${hashes}::bytea[]))
    order by verified_at`.execute(tx.db)
  return rows
}

/** Agents of some keys that are not revoked. */
export async function liveAgentsOfKeys(tx: Tx, keys: readonly Uint8Array[]): Promise<LiveAgent[]> {
  const { rows } = await sql<LiveAgent>`select public_key, agent_id, owner_id from agents
    where public_key = any(${keys}::bytea[]) and status <> 'revoked'`.execute(tx.db)
  return rows
}

/** @returns how many of them could be redeemed, and now are */
export async function redeemTokens(
  tx: Tx,
  hashes: readonly Uint8Array[],
  now: number,
): Promise<number> {
  const { rows } = await sql`update claim_tokens set used_at = ${now}::bigint
    where hash = any(${hashes}::bytea[]) and used_at is null and superseded_at is null
      and expires_at > ${now}::bigint
    returning 1`.execute(tx.db)
  return rows.length
}

/** @throws where a pair of key and label is taken: the unique index has the last word */
export async function insertAgents(tx: Tx, agents: readonly NewAgent[]): Promise<void> {
  const column = <K extends keyof NewAgent>(name: K) => agents.map((agent) => agent[name])
  await sql`insert into agents (seq, tail, public_key, agent_id, owner_id, claimed_at, grade,
      status, status_set_by, pair_slot, status_changed_at, updated_at, version)
    select seq, tail, public_key, agent_id, owner_id, claimed_at, grade,
      'active', 'owner', 0, claimed_at, claimed_at, seq
    from unnest(${column('seq')}::bigint[], ${column('tail')}::text[],
      ${column('public_key')}::bytea[], ${column('agent_id')}::text[],
      ${column('owner_id')}::bigint[], ${column('claimed_at')}::bigint[],
      ${column('grade')}::text[])
      as claim (seq, tail, public_key, agent_id, owner_id, claimed_at, grade)`.execute(tx.db)
}

export async function appendEvents(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  const column = <K extends keyof NewEvent>(name: K) => events.map((event) => event[name])
  const payloads = events.map((event) => JSON.stringify(event.payload))
  await sql`insert into events (seq, at, type, tail, owner_id, facts)
    select * from unnest(${column('seq')}::bigint[], ${column('at')}::bigint[],
      ${column('type')}::text[], ${column('tail')}::text[], ${column('ownerId')}::bigint[],
      ${payloads}::text[])`.execute(tx.db)
}

/** Makes the owner's token that could still be used unusable. At most one can be there. */
export async function supersedeTokens(tx: Tx, ownerId: number, now: number): Promise<void> {
  await tx.db
    .updateTable('claim_tokens')
    .set({ superseded_at: now })
    .where('owner_id', '=', ownerId)
    .where('used_at', 'is', null)
    .where('superseded_at', 'is', null)
    .execute()
}

export async function insertToken(
  tx: Tx,
  token: Pick<ClaimTokenRow, 'hash' | 'owner_id' | 'created_at' | 'expires_at'>,
): Promise<void> {
  await tx.db
    .insertInto('claim_tokens')
    .values({ ...token, used_at: null, superseded_at: null })
    .execute()
}

const selectByHash = prepared<{ hash: Uint8Array }, ClaimTokenRow>((db, param) =>
  db.selectFrom('claim_tokens').selectAll().where('hash', '=', param('hash')),
)

export async function tokenByHash(db: Db, hash: Uint8Array): Promise<ClaimTokenRow | undefined> {
  return (await selectByHash(db, { hash }))[0]
}

const update = prepared<{ hash: Uint8Array; now: number }, { owner_id: number }>((db, param) =>
  db
    .updateTable('claim_tokens')
    .set({ used_at: param('now') })
    .where('hash', '=', param('hash'))
    .where('used_at', 'is', null)
    .where('superseded_at', 'is', null)
    .where('expires_at', '>', param('now'))
    .returning('owner_id'),
)

/**
 * Redeems a token: of all who race for it, one.
 * @returns the owner who issued it, or undefined where it can no longer be redeemed
 */
export async function redeemToken(
  tx: Tx,
  hash: Uint8Array,
  now: number,
): Promise<number | undefined> {
  return (await update(tx.db, { hash, now }))[0]?.owner_id
}

export type NewAgent = Pick<
  AgentRow,
  'seq' | 'tail' | 'public_key' | 'agent_id' | 'owner_id' | 'claimed_at' | 'grade'
>

const insert = prepared<NewAgent, { seq: number }>((db, param) =>
  db
    .insertInto('agents')
    .values({
      seq: param('seq'),
      tail: param('tail'),
      public_key: param('public_key'),
      key_sequence: 1,
      key_changed_at: null,
      agent_id: param('agent_id'),
      owner_id: param('owner_id'),
      status: 'active',
      status_reason: null,
      status_set_by: 'owner',
      pair_slot: 0,
      claimed_at: param('claimed_at'),
      status_changed_at: param('claimed_at'),
      updated_at: param('claimed_at'),
      version: param('seq'),
      username: null,
      display_name: null,
      description: null,
      username_skeleton: null,
      avatar: null,
      grade: param('grade'),
    })
    .onConflict((conflict) => conflict.columns(['public_key', 'agent_id', 'pair_slot']).doNothing())
    .returning('seq'),
)

/** @returns false where the pair of key and label is taken by an agent that is not revoked */
export async function insertAgent(tx: Tx, agent: NewAgent): Promise<boolean> {
  return (await insert(tx.db, agent)).length > 0
}

const selectOtherHolder = prepared<{ key: Uint8Array; owner: number }, { seq: number }>(
  (db, param) =>
    db
      .selectFrom('agents')
      .select('seq')
      .where('public_key', '=', param('key'))
      .where('owner_id', '!=', param('owner'))
      .where('status', '!=', 'revoked')
      .limit(1),
)

/** Whether a key has a live certificate under another owner. Certain, since it is asked under the writer's lock. */
export async function isHeldByAnother(tx: Tx, key: Uint8Array, owner: number): Promise<boolean> {
  return (await selectOtherHolder(tx.db, { key, owner })).length > 0
}
