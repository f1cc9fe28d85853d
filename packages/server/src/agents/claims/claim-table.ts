import { SqliteAdapter, sql } from 'kysely'
import { verificationsOfOwner } from '../../accounts/verification-table.ts'
import type {
  AgentRow,
  ClaimTokenRow,
  Db,
  IdentityVerificationRow,
  Tx,
} from '../../database/database.ts'
import { type AgentEvent, appendAgentEvent } from '../../database/event-table.ts'
import { prepared } from '../../database/prepared.ts'
import type { LogQueueRow } from '../../database/schema/log-rows.ts'
import { insertQueued, insertQueuedRows } from '../changes/log-queue-table.ts'
import { type KeyUse, keyUseColumns, keyUseOf, keyUseOfRow } from '../keys/key-use.ts'

/**
 * Invalidates the owner's unused tokens.
 * @param now milliseconds since 1970
 * @param issuedBy only those of this member of the owner, which is an organisation; empty: only those of the owner itself
 * @returns how many of them could still have been redeemed
 */
export async function supersedeTokens(
  tx: Tx,
  ownerId: number,
  now: number,
  issuedBy?: string,
): Promise<number> {
  const unused = tx.db
    .updateTable('claim_tokens')
    .set({ superseded_at: now })
    .where('owner_id', '=', ownerId)
    .where('used_at', 'is', null)
    .where('superseded_at', 'is', null)
    .returning('expires_at')
  const some = issuedBy === undefined ? unused : unused.where('issued_by', '=', issuedBy)
  return (await some.execute()).filter(({ expires_at }) => expires_at > now).length
}

/**
 * Inserts the tokens of one issuance.
 * @throws Error if an earlier issuance was not superseded: the unique index allows one live token for each position
 */
export async function insertTokens(
  tx: Tx,
  hashes: readonly Uint8Array[],
  token: Pick<ClaimTokenRow, 'owner_id' | 'created_at' | 'expires_at'> &
    Partial<Pick<ClaimTokenRow, 'issued_by'>>,
): Promise<void> {
  const rows = hashes.map((hash, position) => {
    return { issued_by: '', ...token, hash, position, used_at: null, superseded_at: null }
  })
  await tx.db.insertInto('claim_tokens').values(rows).execute()
}

const selectToken = prepared<{ hash: Uint8Array }, ClaimTokenRow>((db, param) =>
  db.selectFrom('claim_tokens').selectAll().where('hash', '=', param('hash')),
)

export async function tokenByHash(db: Db, hash: Uint8Array): Promise<ClaimTokenRow | undefined> {
  return (await selectToken(db, { hash }))[0]
}

const selectPair = prepared<
  { key: Uint8Array; label: string },
  Pick<AgentRow, 'tail' | 'owner_id'>
>((db, param) =>
  db
    .selectFrom('agents')
    .select(['tail', 'owner_id'])
    .where('public_key', '=', param('key'))
    .where('agent_id', '=', param('label'))
    .where('pair_slot', '=', 0),
)

/** The agent that has this key and label and is not revoked. */
export async function agentOfPair(
  db: Db,
  key: Uint8Array,
  label: string,
): Promise<Pick<AgentRow, 'tail' | 'owner_id'> | undefined> {
  return (await selectPair(db, { key, label }))[0]
}

/** The decoded values of a claim request. */
export interface DecodedClaim {
  /** SHA-256 of the claim token, 32 bytes. */
  readonly tokenHash: Uint8Array
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** The label that the owner chose. */
  readonly agentId: string
  /** 64 bytes. */
  readonly signature: Uint8Array
}

/** The data that decide the outcome of a claim. They cannot change during the write transaction that reads them. */
export interface ClaimState extends KeyUse {
  readonly token: ClaimTokenRow | undefined
  /** The verifications of the owner to whom the token was issued. */
  readonly verifications: readonly IdentityVerificationRow[]
}

/**
 * Reads the states of several claims, in the order of the claims. In PostgreSQL, where each statement costs a round trip, all
 * claims share two statements. In SQLite, each claim uses prepared statements.
 * @param at milliseconds since 1970
 */
export function claimStates(
  tx: Tx,
  claims: readonly DecodedClaim[],
  at: number,
): Promise<ClaimState[]> {
  const read = isSqlite(tx.db) ? claimStatesInSqlite : claimStatesInPostgres
  return read(tx.db, claims, at)
}

/** The rows that successful claims write. */
export interface Minted {
  readonly tokenHashes: readonly Uint8Array[]
  readonly agents: readonly NewAgent[]
  readonly events: readonly AgentEvent[]
  /** What the transparency log will say of them, unless they have their places in it already. */
  readonly queued: readonly LogQueueRow[]
}

export type NewAgent = Pick<
  AgentRow,
  | 'seq'
  | 'tail'
  | 'public_key'
  | 'key_thumbprint'
  | 'agent_id'
  | 'owner_id'
  | 'claimed_at'
  | 'grade'
  | 'responsible'
>

/**
 * Redeems tokens and inserts the claimed agents, their events and their entries for the transparency log.
 * @throws Error if a token cannot be redeemed or a pair is taken. The conditional update and the unique index enforce this
 * independently of what was read before.
 */
export async function insertMinted(tx: Tx, minted: Minted, now: number): Promise<void> {
  await (isSqlite(tx.db) ? insertInSqlite : insertInPostgres)(tx, minted, now)
}

function isSqlite(db: Db): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

async function claimStatesInSqlite(
  db: Db,
  claims: readonly DecodedClaim[],
  at: number,
): Promise<ClaimState[]> {
  const states: ClaimState[] = []
  for (const { tokenHash, publicKey, agentId } of claims) {
    const token = await tokenByHash(db, tokenHash)
    const ownerId = token?.owner_id ?? null
    const verifications = ownerId === null ? [] : await verificationsOfOwner(db, ownerId)
    const use = await keyUseOf(db, { publicKey, agentId, ownerId }, null, at)
    states.push({ ...use, token, verifications })
  }
  return states
}

type StateRow = (ClaimTokenRow | { readonly hash: null }) & KeyUse

async function claimStatesInPostgres(
  db: Db,
  claims: readonly DecodedClaim[],
  at: number,
): Promise<ClaimState[]> {
  const hashes = claims.map(({ tokenHash }) => tokenHash)
  const keys = claims.map(({ publicKey }) => publicKey)
  const labels = claims.map(({ agentId }) => agentId)
  const wanted = {
    key: sql.ref('claim.key'),
    label: sql.ref('claim.label'),
    owner: sql.ref('token.owner_id'),
    tail: sql`null`,
    at,
  }
  const [states, verified] = await Promise.all([
    sql<StateRow>`select token.*, ${keyUseColumns(wanted)}
      from unnest(${hashes}::bytea[], ${keys}::bytea[], ${labels}::text[])
        with ordinality as claim (hash, key, label, ordinal)
      left join claim_tokens as token on token.hash = claim.hash
      order by claim.ordinal`.execute(db),
    sql<IdentityVerificationRow>`select * from identity_verifications
      where owner_id in (select owner_id from claim_tokens where hash = any(${hashes}::bytea[]))
      order by verified_at`.execute(db),
  ])
  const verifications = Map.groupBy(verified.rows, ({ owner_id }) => owner_id)
  return states.rows.map((row) => ({
    ...keyUseOfRow(row),
    token: row.hash === null ? undefined : row,
    verifications: (row.hash === null ? undefined : verifications.get(row.owner_id)) ?? [],
  }))
}

const redeem = prepared<{ hash: Uint8Array; now: number }, { owner_id: number }>((db, param) =>
  db
    .updateTable('claim_tokens')
    .set({ used_at: param('now') })
    .where('hash', '=', param('hash'))
    .where('used_at', 'is', null)
    .where('superseded_at', 'is', null)
    .where('expires_at', '>', param('now'))
    .returning('owner_id'),
)

const insert = prepared<NewAgent, object>((db, param) =>
  db.insertInto('agents').values({
    seq: param('seq'),
    tail: param('tail'),
    public_key: param('public_key'),
    key_sequence: 1,
    key_changed_at: null,
    key_thumbprint: param('key_thumbprint'),
    key_changed_by: null,
    agent_id: param('agent_id'),
    owner_id: param('owner_id'),
    status: 'active',
    status_reason: null,
    status_set_by: 'owner',
    pair_slot: 0,
    renounce_final_at: null,
    claimed_at: param('claimed_at'),
    status_changed_at: param('claimed_at'),
    status_time: 'exact',
    updated_at: param('claimed_at'),
    version: param('seq'),
    username: null,
    display_name: null,
    description: null,
    username_skeleton: null,
    avatar: null,
    directory_proof: null,
    grade: param('grade'),
    delegation_depth: 0,
    approvals: 0,
    responsible: param('responsible'),
  }),
)

/** @throws Error if an agent that is not revoked has the same key and label */
export async function insertAgent(tx: Tx, agent: NewAgent): Promise<void> {
  await insert(tx.db, agent)
}

/** Sets what an enrolment rule says of an agent that was inserted in the same transaction. */
export async function describeMinted(
  tx: Tx,
  tail: string,
  profile: Pick<AgentRow, 'display_name' | 'description'>,
): Promise<void> {
  await tx.db.updateTable('agents').set(profile).where('tail', '=', tail).execute()
}

async function insertInSqlite(tx: Tx, minted: Minted, now: number): Promise<void> {
  for (const hash of minted.tokenHashes) {
    if ((await redeem(tx.db, { hash, now })).length !== 1) throw tokenNotRedeemable()
  }
  for (const agent of minted.agents) await insertAgent(tx, agent)
  for (const event of minted.events) await appendAgentEvent(tx, event)
  for (const row of minted.queued) await insertQueued(tx, row)
}

async function insertInPostgres(tx: Tx, minted: Minted, now: number): Promise<void> {
  const { db } = tx
  const { tokenHashes, agents, events, queued } = minted
  const agentColumn = <K extends keyof NewAgent>(name: K) => agents.map((agent) => agent[name])
  const eventColumn = <K extends keyof AgentEvent>(name: K) => events.map((event) => event[name])
  const payloads = events.map((event) => JSON.stringify(event.payload))
  const [redeemed] = await Promise.all([
    sql`update claim_tokens set used_at = ${now}::bigint
      where hash = any(${tokenHashes}::bytea[]) and used_at is null and superseded_at is null
        and expires_at > ${now}::bigint
      returning 1`.execute(db),
    sql`insert into agents (seq, tail, public_key, key_thumbprint, agent_id, owner_id, claimed_at, grade,
        responsible, status, status_set_by, pair_slot, status_changed_at, updated_at, version)
      select seq, tail, public_key, key_thumbprint, agent_id, owner_id, claimed_at, grade,
        responsible, 'active', 'owner', 0, claimed_at, claimed_at, seq
      from unnest(${agentColumn('seq')}::bigint[], ${agentColumn('tail')}::text[],
        ${agentColumn('public_key')}::bytea[], ${agentColumn('key_thumbprint')}::bytea[],
        ${agentColumn('agent_id')}::text[],
        ${agentColumn('owner_id')}::bigint[], ${agentColumn('claimed_at')}::bigint[],
        ${agentColumn('grade')}::text[], ${agentColumn('responsible')}::text[])
        as claim (seq, tail, public_key, key_thumbprint, agent_id, owner_id, claimed_at, grade,
          responsible)`.execute(db),
    sql`insert into events (seq, at, type, tail, owner_id, payload)
      select * from unnest(${eventColumn('seq')}::bigint[], ${eventColumn('at')}::bigint[],
        ${eventColumn('type')}::text[], ${eventColumn('tail')}::text[],
        ${eventColumn('ownerId')}::bigint[], ${payloads}::text[])`.execute(db),
    insertQueuedRows(tx, queued),
  ])
  if (redeemed.rows.length !== tokenHashes.length) throw tokenNotRedeemable()
}

function tokenNotRedeemable(): Error {
  return new Error('a token could not be redeemed that was redeemable in the same transaction')
}
