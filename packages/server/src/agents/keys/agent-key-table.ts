import type { KeyChange } from '@countersign/protocol'
import type { AgentKeyRow, AgentRow, Db, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { thumbprintBytes } from './key-thumbprint-table.ts'

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
  const former = rows.map(({ tail: _tail, changed_by, ...key }): AgentKey => {
    // A node of the release before reports keys as compromised without saying how they became current.
    const unknown = key.sequence === 1 ? 'claim' : 'rotation'
    return { ...key, changed_by: changed_by ?? unknown }
  })
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

/** Marks a key as compromised for all agents that no longer use it. */
export async function markCompromised(tx: Tx, key: Uint8Array): Promise<void> {
  await tx.db
    .updateTable('agent_keys')
    .set({ state: 'compromised' })
    .where('public_key', '=', key)
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
 * Replaces the current key of an agent by a new one with the next sequence number. The former key is recorded as retired,
 * unless it was reported as compromised.
 * @returns false, without a change, if `agent.key_sequence` is not that of the current key
 * @throws Error if another agent that is not revoked has the key and label
 */
export async function replaceCurrentKey(
  tx: Tx,
  agent: CurrentKey,
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
  return true
}
