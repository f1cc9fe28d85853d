import { type AgentStatus, CONTEST_WINDOW_MS, CodedError } from '@countersign/protocol'
import type { AgentKeyRow, Db } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { suspensionOfKey } from './suspended-key-table.ts'

/** A key that is to become the current one of an agent. */
export interface WantedKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** The label that the owner chose for the agent. */
  readonly agentId: string
  readonly ownerId: number
}

/** What keeps a key from becoming the current one of an agent. It cannot change during the write transaction that reads it. */
export interface KeyUse {
  /** Whether an agent that is not revoked has this key and label. */
  readonly isPairTaken: boolean
  /** Whether an agent that is not revoked had this key and label, and its owner may still contest that it was replaced. */
  readonly isPairReserved: boolean
  /** Whether another owner has an agent with this key that is not revoked. */
  readonly isHeldByOtherOwner: boolean
  /** Whether an agent of another owner has replaced this key. */
  readonly isReservedByOtherOwner: boolean
  /** Whether the agent itself has replaced this key. Only a contest brings it back. */
  readonly isOwnFormerKey: boolean
  /** Whether any agent has reported this key as compromised. */
  readonly isKeyCompromised: boolean
  /** Whether the operator has suspended this key. */
  readonly isKeySuspended: boolean
}

/** `any` if two owners may hold live certificates of the same key, else `owner`. */
export type KeyReuse = 'owner' | 'any'

/**
 * Why a key cannot become the current one of an agent: KEY_ALREADY_CLAIMED, with the reason in its message.
 * @returns null if it can
 */
export function keyUseRefusal(keyReuse: KeyReuse, use: KeyUse): CodedError | null {
  if (use.isKeyCompromised) {
    return taken(
      'This key was reported as compromised, so nobody can claim it again. Make a new key.',
    )
  }
  if (use.isKeySuspended) {
    return taken(
      'The operator suspended this key. Nobody can claim it until they lift the suspension.',
    )
  }
  if (keyReuse === 'owner' && use.isHeldByOtherOwner) {
    return taken(
      'Another owner has a certificate of this key. Use another key, or wait until that certificate is revoked.',
    )
  }
  if (keyReuse === 'owner' && use.isReservedByOtherOwner) {
    return taken('An agent of another owner has had this key. It stays reserved to that owner.')
  }
  if (use.isPairTaken) {
    return taken(
      'This key has a certificate under this agentId. Choose another agentId, or revoke that one.',
    )
  }
  if (use.isOwnFormerKey) {
    return taken(
      'This agent has had this key. It comes back only if its owner contests a rotation.',
    )
  }
  if (!use.isPairReserved) return null
  return taken(
    'An agent with this agentId has replaced this key within the last 72 hours. Until it can no longer be contested, nobody can claim the pair.',
  )
}

function taken(message: string): CodedError {
  return new CodedError('KEY_ALREADY_CLAIMED', message)
}

const selectLivePair = prepared<{ key: Uint8Array; label: string }, { seq: number }>((db, param) =>
  db
    .selectFrom('agents')
    .select('seq')
    .where('public_key', '=', param('key'))
    .where('agent_id', '=', param('label'))
    .where('pair_slot', '=', 0),
)

const selectOtherOwner = prepared<{ key: Uint8Array; owner: number }, { seq: number }>(
  (db, param) =>
    db
      .selectFrom('agents')
      .select('seq')
      .where('public_key', '=', param('key'))
      .where('owner_id', '!=', param('owner'))
      .where('status', '!=', 'revoked')
      .limit(1),
)

interface FormerUse {
  readonly tail: string
  readonly agent_id: string
  readonly owner_id: number
  readonly status: AgentStatus
  readonly state: AgentKeyRow['state']
  readonly valid_until: number
}

const selectFormerUses = prepared<{ key: Uint8Array }, FormerUse>((db, param) =>
  db
    .selectFrom('agent_keys')
    .innerJoin('agents', 'agents.tail', 'agent_keys.tail')
    .select(['agents.tail', 'agent_id', 'owner_id', 'status', 'state', 'valid_until'])
    .where('agent_keys.public_key', '=', param('key')),
)

/**
 * Reads what keeps a key from becoming the current one of an agent.
 * @param tail of the agent; null: the key is claimed for a new one
 * @param at milliseconds since 1970
 */
export async function keyUseOf(
  db: Db,
  { publicKey: key, agentId: label, ownerId: owner }: WantedKey,
  tail: string | null,
  at: number,
): Promise<KeyUse> {
  const uses = await selectFormerUses(db, { key })
  const retired = uses.filter(({ state }) => state === 'retired')
  const others = retired.filter((each) => each.tail !== tail)
  return {
    isPairTaken: (await selectLivePair(db, { key, label })).length > 0,
    isPairReserved: others.some((each) => each.agent_id === label && isContestable(each, at)),
    isHeldByOtherOwner: (await selectOtherOwner(db, { key, owner })).length > 0,
    isReservedByOtherOwner: retired.some(({ owner_id }) => owner_id !== owner),
    isOwnFormerKey: retired.length > others.length,
    isKeyCompromised: uses.length > retired.length,
    isKeySuspended: (await suspensionOfKey(db, key)) !== undefined,
  }
}

function isContestable({ status, valid_until }: FormerUse, at: number): boolean {
  return status !== 'revoked' && valid_until > at - CONTEST_WINDOW_MS
}
