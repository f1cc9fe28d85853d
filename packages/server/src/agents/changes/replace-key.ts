import {
  type AgentChange,
  type JsonValue,
  type KeyChange,
  keyThumbprint,
  type LogActor,
} from '@countersign/protocol'
import type { AgentRow, Tx } from '../../database/database.ts'
import { appendEvent, type EventType } from '../../database/event-table.ts'
import { replaceCurrentKey } from '../keys/agent-key-table.ts'
import { type KeyReuse, keyUseOf, keyUseRefusal } from '../keys/key-use.ts'
import { notifyOfKeyChange } from './end-recovery.ts'
import { logChange } from './log-change.ts'
import { reviseAfterNewKey } from './revise-status-entry.ts'

/**
 * Checks that a key may become the current one of an agent, by the rules of a claim. The agent's own former keys may not.
 * @param at milliseconds since 1970
 * @throws CodedError KEY_ALREADY_CLAIMED
 */
export async function assertUsable(
  tx: Tx,
  agent: AgentRow,
  publicKey: Uint8Array,
  keyReuse: KeyReuse,
  at: number,
): Promise<void> {
  const wanted = { publicKey, agentId: agent.agent_id, ownerId: agent.owner_id }
  const refusal = keyUseRefusal(keyReuse, await keyUseOf(tx.db, wanted, agent.tail, at))
  if (refusal !== null) throw refusal
}

export interface Replacement {
  /** 32 bytes. */
  readonly newKey: Uint8Array
  readonly changedBy: KeyChange
  /** Milliseconds since 1970. */
  readonly at: number
  readonly type: EventType
  /** Added to the number and the thumbprint of the new key in the event. */
  readonly payload: Readonly<Record<string, JsonValue>>
  /** The entry for the transparency log, and who made the change. */
  readonly by: LogActor
  readonly change: AgentChange
}

/** Makes a key the current one of an agent, with the next sequence number, and appends the event and the entry of the log. */
export async function replaceKey(
  tx: Tx,
  agent: AgentRow,
  { newKey, changedBy, at, type, payload, by, change }: Replacement,
): Promise<void> {
  const { tail, owner_id: ownerId } = agent
  const seq = tx.nextSeq()
  const replaced = { publicKey: newKey, changedBy, at, version: seq }
  if (!(await replaceCurrentKey(tx, agent, replaced))) {
    throw new Error(`the key of ${tail} changed in the same transaction`)
  }
  const keySequence = agent.key_sequence + 1
  const added = { keySequence, keyThumbprint: keyThumbprint(newKey), ...payload }
  await appendEvent(tx, { seq, at, type, tail, ownerId, payload: added })
  await reviseAfterNewKey(tx, { ...agent, key_sequence: keySequence }, at)
  await logChange(tx, tail, { seq, at, by, change, evidence: added })
  await notifyOfKeyChange(tx, agent, { seq, at, type, payload })
}
