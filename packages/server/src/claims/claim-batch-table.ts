import { sql } from 'kysely'
import type { NewAgent } from '../agents/agent-table.ts'
import type {
  AgentRow,
  ClaimTokenRow,
  IdentityVerificationRow,
  Tx,
} from '../core/database/database.ts'
import type { NewEvent } from '../core/database/event-table.ts'

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
  const facts = events.map((event) => JSON.stringify(event.facts))
  await sql`insert into events (seq, at, type, tail, owner_id, facts)
    select * from unnest(${column('seq')}::bigint[], ${column('at')}::bigint[],
      ${column('type')}::text[], ${column('tail')}::text[], ${column('ownerId')}::bigint[],
      ${facts}::text[])`.execute(tx.db)
}
