import type { AgentKeyRow, AgentRow, Db, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

const selectOfAgent = prepared<{ tail: string }, AgentKeyRow>((db, param) =>
  db.selectFrom('agent_keys').selectAll().where('tail', '=', param('tail')).orderBy('sequence'),
)

/** A former key of an agent, or its current key, which has no end of validity. */
export type AgentKey =
  | Omit<AgentKeyRow, 'tail'>
  | (Omit<AgentKeyRow, 'tail' | 'state' | 'valid_until'> & { state: 'current'; valid_until: null })

/**
 * All keys of an agent, former and current, ordered by sequence number. The current key is stored in the agent's own row,
 * so that a claim writes a single row. If `agent_keys` has a row for it too, it was reported as compromised and has not
 * been replaced.
 */
export async function keysOfAgent(
  db: Db,
  agent: Pick<AgentRow, 'tail' | 'public_key' | 'key_sequence' | 'key_changed_at' | 'claimed_at'>,
): Promise<AgentKey[]> {
  const rows = await selectOfAgent(db, { tail: agent.tail })
  const former = rows.map(({ tail: _tail, ...key }): AgentKey => key)
  const sequence = agent.key_sequence
  if (former.some((key) => key.sequence === sequence)) return former
  const since = agent.key_changed_at ?? agent.claimed_at
  const current = { sequence, public_key: agent.public_key, valid_from: since }
  return [...former, { ...current, state: 'current', valid_until: null }]
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
export async function insertCompromisedKey(
  tx: Tx,
  agent: Pick<AgentRow, 'tail' | 'public_key' | 'key_sequence' | 'key_changed_at' | 'claimed_at'>,
  at: number,
): Promise<boolean> {
  const { tail, public_key, key_sequence: sequence } = agent
  const valid_from = agent.key_changed_at ?? agent.claimed_at
  const inserted = await tx.db
    .insertInto('agent_keys')
    .values({ tail, sequence, public_key, state: 'compromised', valid_from, valid_until: at })
    .onConflict((conflict) => conflict.doNothing())
    .returning('tail')
    .execute()
  return inserted.length > 0
}
