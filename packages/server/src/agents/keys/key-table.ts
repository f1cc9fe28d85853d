import type { KeyChange } from '@countersign/protocol'
import type {
  AgentKeyRow,
  AgentRow,
  Db,
  KeyRecoveryRow,
  SuspendedKeyRow,
  Tx,
} from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { thumbprintBytes } from '../../secrets/ed25519.ts'

const selectOfAgent = prepared<{ tail: string }, AgentKeyRow>((db, param) =>
  db.selectFrom('agent_keys').selectAll().where('tail', '=', param('tail')).orderBy('sequence'),
)

/** A former key of an agent, or its current key, which has no end of validity. */
export type AgentKey = Omit<AgentKeyRow, 'tail' | 'state' | 'valid_until' | 'changed_by'> & {
  readonly changed_by: KeyChange
} & (
    | Pick<AgentKeyRow, 'state' | 'valid_until'>
    | { readonly state: 'current'; readonly valid_until: null }
  )

/** The columns of an agent that concern its current key. */
export type CurrentKey = Pick<
  AgentRow,
  'tail' | 'public_key' | 'key_sequence' | 'key_changed_at' | 'key_changed_by' | 'claimed_at'
>

/**
 * All keys of an agent, former and current, ordered by sequence number. The current key is stored in the agent's own row,
 * so that a claim writes a single row. If `agent_keys` has a row for it too, it was reported as compromised and has not
 * been replaced.
 */
export async function keysOfAgent(db: Db, agent: CurrentKey): Promise<AgentKey[]> {
  const rows = await selectOfAgent(db, { tail: agent.tail })
  const former = rows.map(
    ({ tail: _tail, changed_by, ...key }): AgentKey => ({
      ...key,
      changed_by: changed_by ?? 'claim',
    }),
  )
  const sequence = agent.key_sequence
  if (former.some((key) => key.sequence === sequence)) return former
  const current = { sequence, public_key: agent.public_key, valid_from: currentSince(agent) }
  const changed_by = agent.key_changed_by ?? 'claim'
  return [...former, { ...current, changed_by, state: 'current', valid_until: null }]
}

/** When the current key became current, in milliseconds since 1970. */
export function currentSince(agent: Pick<CurrentKey, 'key_changed_at' | 'claimed_at'>): number {
  return agent.key_changed_at ?? agent.claimed_at
}

const selectFormerUses = prepared<{ key: Uint8Array }, Pick<AgentKeyRow, 'state' | 'valid_until'>>(
  (db, param) =>
    db
      .selectFrom('agent_keys')
      .select(['state', 'valid_until'])
      .where('public_key', '=', param('key'))
      .orderBy('state')
      .orderBy('valid_until', 'desc')
      .limit(1),
)

/** What became of a key that an agent has had: a report as compromised comes before a replacement, then the latest. */
export async function endOfKey(
  db: Db,
  key: Uint8Array,
): Promise<Pick<AgentKeyRow, 'state' | 'valid_until'> | null> {
  return (await selectFormerUses(db, { key }))[0] ?? null
}

const selectCompromised = prepared<{ key: Uint8Array }, { sequence: number }>((db, param) =>
  db
    .selectFrom('agent_keys')
    .select('sequence')
    .where('public_key', '=', param('key'))
    .where('state', '=', 'compromised')
    .limit(1),
)

/** Whether any agent has reported this 32-byte key as compromised. One report counts for all agents with the key. */
export async function isCompromised(db: Db, key: Uint8Array): Promise<boolean> {
  return (await selectCompromised(db, { key })).length > 0
}

/**
 * Records that an agent's current key was reported as compromised.
 * @param at milliseconds since 1970
 * @returns false, without a change, if that is recorded already
 */
export function insertCompromisedKey(tx: Tx, agent: CurrentKey, at: number): Promise<boolean> {
  return insertFormerKey(tx, agent, 'compromised', at)
}

/**
 * Records that an agent's current key is no longer valid. If that is recorded already, nothing changes.
 * @param at milliseconds since 1970
 * @returns whether it was recorded
 */
async function insertFormerKey(
  tx: Tx,
  agent: CurrentKey,
  state: AgentKeyRow['state'],
  at: number,
): Promise<boolean> {
  const { tail, public_key, key_sequence: sequence, key_changed_by: changed_by } = agent
  const valid_from = currentSince(agent)
  const inserted = await tx.db
    .insertInto('agent_keys')
    .values({ tail, sequence, public_key, state, valid_from, valid_until: at, changed_by })
    .onConflict((conflict) => conflict.doNothing())
    .returning('tail')
    .execute()
  return inserted.length > 0
}

/** Marks a key as compromised for all agents that no longer use it. @returns where it was not yet, in a fixed order */
export async function markCompromised(
  tx: Tx,
  key: Uint8Array,
): Promise<Pick<AgentKeyRow, 'tail' | 'sequence'>[]> {
  const marked = await tx.db
    .updateTable('agent_keys')
    .set({ state: 'compromised' })
    .where('public_key', '=', key)
    .where('state', 'not in', ['compromised', 'lost'])
    .returning(['tail', 'sequence'])
    .execute()
  return marked.sort((a, b) => a.sequence - b.sequence || (a.tail < b.tail ? -1 : 1))
}

/** Marks a key that has renounced an agent wherever the agent has had it: it is not reserved to the owner. */
export async function markRenounced(
  tx: Tx,
  { tail, public_key }: Pick<AgentRow, 'tail' | 'public_key'>,
): Promise<void> {
  await tx.db
    .updateTable('agent_keys')
    .set({ state: 'renounced' })
    .where('tail', '=', tail)
    .where('public_key', '=', public_key)
    .where('state', '=', 'retired')
    .execute()
}

export interface NewKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly changedBy: KeyChange
  /** Milliseconds since 1970. */
  readonly at: number
  /** The sequence number of the event about it. */
  readonly version: number
}

/**
 * Replaces the current key of an agent by a new one with the next sequence number. The former key is recorded as retired, or
 * as renounced if it has renounced the agent, unless it was reported as compromised.
 * @returns false, without a change, if `agent.key_sequence` is not that of the current key
 * @throws Error if another agent that is not revoked has the key and label
 */
export async function replaceCurrentKey(
  tx: Tx,
  agent: CurrentKey & Pick<AgentRow, 'renounce_final_at'>,
  { publicKey, changedBy, at, version }: NewKey,
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('agents')
    .set({
      public_key: publicKey,
      key_thumbprint: thumbprintBytes(publicKey),
      key_sequence: agent.key_sequence + 1,
      key_changed_at: at,
      key_changed_by: changedBy,
      updated_at: at,
      version,
    })
    .where('tail', '=', agent.tail)
    .where('key_sequence', '=', agent.key_sequence)
    .returning('tail')
    .execute()
  if (updated.length === 0) return false
  await insertFormerKey(tx, agent, 'retired', at)
  if (agent.renounce_final_at !== null) await markRenounced(tx, agent)
  return true
}

/**
 * Replaces the current key of an agent by one of which only the thumbprint is known. The former key is recorded as retired, and
 * what had the number of the lost key or a higher one is forgotten.
 * @param after the agent with the lost key
 */
export async function loseCurrentKey(tx: Tx, before: AgentRow, after: AgentRow): Promise<void> {
  const { tail, public_key, key_thumbprint, key_sequence, version } = after
  const { key_changed_by, updated_at: at } = after
  const columns = { public_key, key_thumbprint, key_sequence, key_changed_by, version }
  await tx.db
    .updateTable('agents')
    .set({ ...columns, key_changed_at: at, updated_at: at })
    .where('tail', '=', tail)
    .execute()
  await insertFormerKey(tx, before, 'retired', at)
  await tx.db
    .deleteFrom('agent_keys')
    .where('tail', '=', tail)
    .where('sequence', '>=', key_sequence)
    .execute()
  await insertFormerKey(tx, after, 'lost', at)
}

const selectByTail = prepared<{ tail: string }, KeyRecoveryRow>((db, param) =>
  db.selectFrom('key_recoveries').selectAll().where('tail', '=', param('tail')),
)

/** The pending recovery of an agent, if any. */
export async function recoveryOf(db: Db, tail: string): Promise<KeyRecoveryRow | undefined> {
  return (await selectByTail(db, { tail }))[0]
}

/**
 * Whether an agent that is not among these and not revoked has a current or a replaced key of one of them, or has replaced one.
 */
export async function shareKeyWithOthers(db: Db, tails: readonly string[]): Promise<boolean> {
  const keys = db
    .selectFrom('agents')
    .select('public_key')
    .where('tail', 'in', tails)
    .union(
      db
        .selectFrom('agent_keys')
        .select('public_key')
        .where('tail', 'in', tails)
        .where('state', '=', 'retired'),
    )
  const current = await db
    .selectFrom('agents')
    .select('tail')
    .where('public_key', 'in', keys)
    .where('status', '<>', 'revoked')
    .where('tail', 'not in', tails)
    .limit(1)
    .executeTakeFirst()
  if (current !== undefined) return true
  const retired = await db
    .selectFrom('agent_keys')
    .innerJoin('agents', 'agents.tail', 'agent_keys.tail')
    .select('agents.tail')
    .where('agent_keys.public_key', 'in', keys)
    .where('agent_keys.state', '=', 'retired')
    .where('agents.status', '<>', 'revoked')
    .where('agents.tail', 'not in', tails)
    .limit(1)
    .executeTakeFirst()
  return retired !== undefined
}

/** The pending recoveries that would make a key current. */
export function recoveriesTo(db: Db, key: Uint8Array): Promise<KeyRecoveryRow[]> {
  return db.selectFrom('key_recoveries').selectAll().where('new_key', '=', key).execute()
}

/** The agents whose pending recovery a member has started. */
export async function recoveriesBy(db: Db, membership: string): Promise<string[]> {
  const rows = await db
    .selectFrom('key_recoveries')
    .select('tail')
    .where('started_by', '=', membership)
    .orderBy('tail')
    .execute()
  return rows.map(({ tail }) => tail)
}

/** @returns false, without a change, if the agent has a pending recovery */
export async function insertRecovery(
  tx: Tx,
  row: Pick<KeyRecoveryRow, 'tail' | 'reason' | 'started_at' | 'token_hash' | 'token_expires_at'> &
    Partial<Pick<KeyRecoveryRow, 'started_by'>>,
): Promise<boolean> {
  const inserted = await tx.db
    .insertInto('key_recoveries')
    .values({ ...row, token_used_at: null, new_key: null, redeemed_at: null, effective_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning('tail')
    .execute()
  return inserted.length > 0
}

/** Replaces the token of a pending recovery. */
export async function replaceRecoveryToken(
  tx: Tx,
  tail: string,
  token: Pick<KeyRecoveryRow, 'token_hash' | 'token_expires_at'>,
): Promise<void> {
  await tx.db
    .updateTable('key_recoveries')
    .set({ ...token, token_used_at: null })
    .where('tail', '=', tail)
    .execute()
}

/**
 * Uses the token of a pending recovery for a new key. Of concurrent callers, one gets true.
 * @param use `token_used_at` is the time of the use, `effective_at` when the key becomes current
 */
export async function redeemRecovery(
  tx: Tx,
  recovery: Pick<KeyRecoveryRow, 'tail' | 'token_hash'>,
  use: { readonly newKey: Uint8Array; readonly at: number; readonly effectiveAt: number },
): Promise<boolean> {
  const { newKey, at, effectiveAt } = use
  const updated = await tx.db
    .updateTable('key_recoveries')
    .set({ token_used_at: at, new_key: newKey, redeemed_at: at, effective_at: effectiveAt })
    .where('tail', '=', recovery.tail)
    .where('token_hash', '=', recovery.token_hash)
    .where('token_used_at', 'is', null)
    .where('token_expires_at', '>', at)
    .returning('tail')
    .execute()
  return updated.length > 0
}

/** @returns false if the agent had no pending recovery */
export async function deleteRecovery(tx: Tx, tail: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('key_recoveries')
    .where('tail', '=', tail)
    .returning('tail')
    .execute()
  return deleted.length > 0
}

/** What a lookup by thumbprint reads of an agent. */
export type AgentOfKey = Pick<AgentRow, 'tail' | 'public_key' | 'status' | 'claimed_at'>

const selectAgents = prepared<{ thumbprint: Uint8Array; limit: number }, AgentOfKey>((db, param) =>
  db
    .selectFrom('agents')
    .select(['tail', 'public_key', 'status', 'claimed_at'])
    .where('key_thumbprint', '=', param('thumbprint'))
    .whereRef('public_key', '!=', 'key_thumbprint')
    .where('status', '!=', 'revoked')
    .orderBy('status')
    .orderBy('seq')
    .limit(param('limit')),
)

/** The agents with this current key that are not revoked: active ones first, then in the order of their claims. */
export function agentsOfThumbprint(
  db: Db,
  thumbprint: Uint8Array,
  limit: number,
): Promise<AgentOfKey[]> {
  return selectAgents(db, { thumbprint, limit })
}

const selectByKey = prepared<{ key: Uint8Array }, SuspendedKeyRow>((db, param) =>
  db.selectFrom('suspended_keys').selectAll().where('public_key', '=', param('key')),
)

/** The operator's suspension of a 32-byte key, if any. */
export async function suspensionOfKey(
  db: Db,
  key: Uint8Array,
): Promise<SuspendedKeyRow | undefined> {
  return (await selectByKey(db, { key }))[0]
}

/** @returns false, without a change, if the key is suspended already */
export async function insertSuspendedKey(tx: Tx, row: SuspendedKeyRow): Promise<boolean> {
  const inserted = await tx.db
    .insertInto('suspended_keys')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('public_key')
    .execute()
  return inserted.length > 0
}

/** @returns false if the key was not suspended */
export async function deleteSuspendedKey(tx: Tx, key: Uint8Array): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('suspended_keys')
    .where('public_key', '=', key)
    .returning('public_key')
    .execute()
  return deleted.length > 0
}
