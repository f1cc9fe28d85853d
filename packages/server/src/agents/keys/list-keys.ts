import {
  type AccountExport,
  type AgentKeys,
  encodeBase64,
  encodeBase64Url,
  keyThumbprint,
  type Tail,
} from '@countersign/protocol'
import { didOfAgent } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, Db, KeyRecoveryRow } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { type AgentKey, currentSince, keysOfAgent, recoveryOf } from './key-table.ts'
import { requireAgent } from './signed-operation.ts'

/**
 * All keys of an agent, oldest first, its pending recovery, and when it is revoked if its key has renounced it.
 * @throws CodedError NOT_FOUND
 */
export async function listKeys(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  tail: Tail,
): Promise<AgentKeys> {
  const agent = await requireAgent(db.read, tail)
  const keys = await keysOfAgent(db.read, agent)
  return {
    [site.naming.didField]: didOfAgent(site, tail),
    keySequence: agent.key_sequence,
    keyChangedAt: timestamp(currentSince(agent)),
    keys: keys.map(describeKey),
    recovery: await pendingRecovery(db.read, tail),
    renouncing: renouncingOf(agent),
  }
}

function renouncingOf({ renounce_final_at: finalAt }: AgentRow): AgentKeys['renouncing'] {
  return finalAt === null ? null : { finalAt: timestamp(finalAt) }
}

function describeKey(key: AgentKey): AgentKeys['keys'][number] {
  return {
    sequence: key.sequence,
    keyThumbprint:
      key.state === 'lost' ? encodeBase64Url(key.public_key) : keyThumbprint(key.public_key),
    from: timestamp(key.valid_from),
    until: timestampOrNull(key.valid_until),
    state: key.state,
    changedBy: key.changed_by,
  }
}

/** The pending recovery of an agent; null: none. */
export async function pendingRecovery(db: Db, tail: Tail): Promise<AgentKeys['recovery']> {
  const row = await recoveryOf(db, tail)
  return row === undefined ? null : describeRecovery(row)
}

function describeRecovery(row: KeyRecoveryRow): NonNullable<AgentKeys['recovery']> {
  return {
    reason: row.reason,
    startedAt: timestamp(row.started_at),
    redeemedAt: timestampOrNull(row.redeemed_at),
    effectiveAt: timestampOrNull(row.effective_at),
    keyThumbprint: row.new_key === null ? null : keyThumbprint(row.new_key),
  }
}

/** The keys of an agent and its pending recovery, with everything that is stored except the hash of the recovery token. */
export async function exportKeys(
  db: Db,
  agent: AgentRow,
): Promise<Pick<AccountExport['agents'][number], 'keys' | 'recovery' | 'renouncing'>> {
  const keys = await keysOfAgent(db, agent)
  const recovery = await recoveryOf(db, agent.tail)
  return {
    keys: keys.map((key) => ({ ...describeKey(key), publicKey: encodeBase64(key.public_key) })),
    recovery:
      recovery === undefined
        ? null
        : {
            ...describeRecovery(recovery),
            tokenExpiresAt: timestamp(recovery.token_expires_at),
            tokenUsedAt: timestampOrNull(recovery.token_used_at),
          },
    renouncing: renouncingOf(agent),
  }
}
