import {
  CodedError,
  encodeBase64,
  type KeyRotation,
  type Rotated,
  type RotateRequest,
  type Tail,
} from '@countersign/protocol'
import { didOfAgent, type Site, tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { RENOUNCED_MESSAGE } from '../changes/holds.ts'
import { currentSince, keysOfAgent } from './key-table.ts'
import { assertUsable } from './key-use.ts'
import {
  assertRecent,
  assertSigned,
  decodeNewKey,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from './signed-operation.ts'

interface Rotation {
  readonly tail: Tail
  /** The number of the new key. */
  readonly sequence: number
  readonly oldKey: Uint8Array
  readonly newKey: Uint8Array
  /** What both keys have signed, and their signatures: the log publishes it. */
  readonly logged: KeyRotation
}

/**
 * Replaces the current key of an active agent by a new one, at once. Both keys sign the same bytes. Of concurrent rotations, one
 * succeeds. Repeating a rotation that succeeded changes nothing and returns the same, so a retry after a lost response is safe.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, CONFLICT if `sequence` is not the next one, the key has renounced the agent or
 *   the agent is enrolled, INVALID_SIGNATURE, AGENT_NOT_ACTIVE, KEY_ALREADY_CLAIMED
 */
export async function rotate(
  deps: KeyOperationDeps,
  reference: string,
  request: RotateRequest,
): Promise<Rotated> {
  const { db, site, now } = deps
  const { sequence, issuedAt } = request
  const tail = tailOf(site.naming, reference)
  const newKey = decodeNewKey(deps, 'newPublicKey', request.newPublicKey)
  const bySignature = {
    old: decodeSigned(request.oldSignature),
    new: decodeSigned(request.newSignature),
  }
  assertRecent(issuedAt, now())
  const agent = await requireAgent(db.read, tail)
  const isRepeated = isCurrent(agent, sequence, newKey)
  const oldKey = isRepeated ? await keyBefore(db.read, agent) : nextTo(agent, sequence)
  const did = didOfAgent(site, tail)
  const service = site.baseUrl
  const signed = { operation: 'rotate', service, did, sequence, oldKey, newKey, issuedAt } as const
  const whose = 'the agent’s current key (oldSignature)'
  await assertSigned(deps, signed, { key: oldKey, signature: bySignature.old, whose })
  const newOne = 'the new key (newSignature)'
  await assertSigned(deps, signed, { key: newKey, signature: bySignature.new, whose: newOne })
  if (isRepeated) return rotatedOf(site, agent)
  const logged: KeyRotation = {
    type: 'key_rotated',
    service,
    issuedAt,
    prevKey: encodeBase64(oldKey),
    newKey: encodeBase64(newKey),
    oldSignature: request.oldSignature,
    newSignature: request.newSignature,
  }
  return rotatedOf(site, await commit(deps, { tail, sequence, oldKey, newKey, logged }))
}

function rotatedOf(site: Site, agent: AgentRow): Rotated {
  return {
    [site.naming.didField]: didOfAgent(site, agent.tail as Tail),
    keySequence: agent.key_sequence,
    keyChangedAt: timestamp(currentSince(agent)),
  }
}

function isCurrent(agent: AgentRow, sequence: number, key: Uint8Array): boolean {
  return (
    agent.key_sequence === sequence &&
    agent.key_changed_by === 'rotation' &&
    Buffer.compare(agent.public_key, key) === 0
  )
}

/** The key that the current one has replaced. */
async function keyBefore(db: Db, agent: AgentRow): Promise<Uint8Array> {
  const keys = await keysOfAgent(db, agent)
  const before = keys.find((key) => key.sequence === agent.key_sequence - 1)
  if (before === undefined) throw new Error(`the former key of ${agent.tail} is missing`)
  return before.public_key
}

/** The current key, if the sequence is the next one. @throws CodedError CONFLICT */
function nextTo(agent: AgentRow, sequence: number): Uint8Array {
  if (sequence === agent.key_sequence + 1) return agent.public_key
  throw new CodedError(
    'CONFLICT',
    `The current key of this agent has the sequence ${agent.key_sequence}, so the next one is ${agent.key_sequence + 1}.`,
  )
}

async function commit(deps: KeyOperationDeps, rotation: Rotation): Promise<AgentRow> {
  return deps.db.write(async (tx) => {
    const agent = await requireAgent(tx.db, rotation.tail)
    // The same request may have been sent twice at the same time.
    if (isCurrent(agent, rotation.sequence, rotation.newKey)) return agent
    return rotateInTransaction(deps, tx, agent, rotation)
  })
}

async function rotateInTransaction(
  { keyReuse, now }: KeyOperationDeps,
  tx: Tx,
  agent: AgentRow,
  { sequence, oldKey, newKey, logged }: Rotation,
): Promise<AgentRow> {
  const at = Math.max(now(), currentSince(agent))
  // The key may have changed since the signatures were verified.
  const current = nextTo(agent, sequence)
  if (Buffer.compare(current, oldKey) !== 0) {
    throw new CodedError('CONFLICT', 'The key of this agent has changed meanwhile.')
  }
  if (agent.renounce_final_at !== null) throw new CodedError('CONFLICT', RENOUNCED_MESSAGE)
  if (agent.status !== 'active') {
    throw new CodedError(
      'AGENT_NOT_ACTIVE',
      `This agent is ${agent.status}. Only the key of an active agent can be rotated.`,
    )
  }
  await assertUsable(tx, agent, newKey, keyReuse, at)
  return changeAgent(tx, agent.tail, { type: 'agent.key_rotated', newKey, rotation: logged }, at)
}
