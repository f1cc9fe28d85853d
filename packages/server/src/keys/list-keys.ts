import { type AgentKeys, keyThumbprint, type Tail } from '@countersign/protocol'
import { currentSince, keysOfAgent } from '../agents/agent-key-table.ts'
import { recoveryOf } from '../agents/key-recovery-table.ts'
import type { Db } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { didOfAgent } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'
import { requireAgent } from './signed-operation.ts'

/**
 * All keys of an agent, oldest first, and its pending recovery.
 * @throws CodedError NOT_FOUND
 */
export async function listKeys(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  tail: Tail,
): Promise<AgentKeys> {
  const agent = await requireAgent(db.read, tail)
  const keys = await keysOfAgent(db.read, agent)
  const recovery = await pendingRecovery(db.read, tail)
  return {
    [site.naming.didField]: didOfAgent(site, tail),
    keySequence: agent.key_sequence,
    keyChangedAt: timestamp(currentSince(agent)),
    keys: keys.map((key) => ({
      sequence: key.sequence,
      keyThumbprint: keyThumbprint(key.public_key),
      from: timestamp(key.valid_from),
      until: key.valid_until === null ? null : timestamp(key.valid_until),
      state: key.state,
      changedBy: key.changed_by,
    })),
    recovery,
  }
}

/** The pending recovery of an agent; null: none. */
export async function pendingRecovery(db: Db, tail: Tail): Promise<AgentKeys['recovery']> {
  const row = await recoveryOf(db, tail)
  if (row === undefined) return null
  return {
    reason: row.reason,
    startedAt: timestamp(row.started_at),
    redeemedAt: row.redeemed_at === null ? null : timestamp(row.redeemed_at),
    effectiveAt: row.effective_at === null ? null : timestamp(row.effective_at),
    keyThumbprint: row.new_key === null ? null : keyThumbprint(row.new_key),
  }
}
