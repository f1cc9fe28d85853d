import { agentByTail } from '../../packages/server/src/agents/agent-table.ts'
import type { Database } from '../../packages/server/src/database/database.ts'
import { appendAgentEvent } from '../../packages/server/src/database/event-table.ts'
import { thumbprintBytes } from '../../packages/server/src/secrets/ed25519.ts'

/**
 * Replaces the key of an agent in the database, as a rotation would: the former key gets a row of its own, and an event
 * makes read models load the agent again.
 * @param publicKey 32 bytes
 * @param state what becomes of the former key
 */
export function replaceKey(
  db: Database,
  tail: string,
  publicKey: Uint8Array,
  state: 'retired' | 'compromised' = 'retired',
): Promise<void> {
  return db.write(async (tx) => {
    const agent = await agentByTail(tx.db, tail)
    if (agent === undefined) throw new Error(`no agent ${tail}`)
    const { public_key, key_sequence: sequence, owner_id: ownerId } = agent
    const valid_from = agent.key_changed_at ?? agent.claimed_at
    const seq = tx.nextSeq()
    const at = Math.max(Date.now(), valid_from + 1)
    await tx.db
      .insertInto('agent_keys')
      .values({ tail, sequence, public_key, state, valid_from, valid_until: at })
      .execute()
    await tx.db
      .updateTable('agents')
      .set({
        public_key: publicKey,
        key_thumbprint: thumbprintBytes(publicKey),
        key_sequence: sequence + 1,
        key_changed_at: at,
      })
      .set({ updated_at: at, version: seq })
      .where('tail', '=', tail)
      .where('key_sequence', '=', sequence)
      .execute()
    await appendAgentEvent(tx, { seq, at, type: 'agent.updated', tail, ownerId, payload: {} })
  })
}
