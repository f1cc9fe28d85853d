import {
  CodedError,
  type JsonValue,
  RENOUNCE_DELAY_MS,
  RENOUNCED_BY_AGENT,
  type Renounced,
  type RenounceRequest,
} from '@countersign/protocol'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, JobRow, Tx } from '../../database/database.ts'
import { cancelJob, scheduleJob } from '../../database/jobs/job-table.ts'
import { agentByTail, clearRenounced } from '../agent-table.ts'
import { type AgentEffect, changeAgent, isOfCurrentKey } from '../changes/change-agent.ts'
import { revokeAgent, setStatus } from '../changes/set-status.ts'
import { isCompromised, markRenounced, recoveryOf } from './key-table.ts'
import {
  assertCurrent,
  assertRecent,
  assertSigned,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from './signed-operation.ts'

/** The kind of job that revokes an agent that its key has renounced. */
export const REVOKE_RENOUNCED = 'revoke-renounced'

type RenounceDeps = Pick<KeyOperationDeps, 'db' | 'site' | 'now' | 'ed25519'>

/**
 * Gives up an agent at the request of the holder of its key, so that an agent that was tricked into a stranger's claim can leave:
 * suspends it at once, and revokes it after 72 hours. Until then its owner can recover it with a new key, or report the key, because
 * the holder may be a thief. The key is not burned. Repeating it changes nothing, so a retry after a lost response succeeds.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, INVALID_SIGNATURE; CONFLICT if `sequence` is not that of the current key;
 *   FORBIDDEN if the key was reported as compromised, because the owner decides what becomes of the DID
 */
export async function renounce(
  deps: RenounceDeps,
  reference: string,
  { sequence, issuedAt, signature }: RenounceRequest,
): Promise<Renounced> {
  const { db, site, now } = deps
  const tail = tailOf(site.naming, reference)
  const signed = decodeSigned(signature)
  assertRecent(issuedAt, now())
  const { public_key: publicKey } = await requireAgent(db.read, tail)
  const did = didOfAgent(site, tail)
  const target = { service: site.baseUrl, did, sequence, oldKey: publicKey, newKey: null, issuedAt }
  const whose = 'this agent’s current key'
  await assertSigned(
    deps,
    { operation: 'renounce', ...target },
    { key: publicKey, signature: signed, whose },
  )
  const agent = await db.write(async (tx) => {
    const evidence = { service: site.baseUrl, sequence, issuedAt, signature }
    const request = { sequence, publicKey, evidence, at: now() }
    await beginRenouncing(tx, await requireAgent(tx.db, tail), request)
    return requireAgent(tx.db, tail)
  })
  return {
    [site.naming.didField]: did,
    status: agent.status,
    statusReason: agent.status_reason,
    statusChangedAt: timestamp(agent.status_changed_at),
    finalAt: timestampOrNull(agent.renounce_final_at),
  }
}

async function beginRenouncing(
  tx: Tx,
  agent: AgentRow,
  signed: {
    readonly sequence: number
    readonly publicKey: Uint8Array
    readonly evidence: JsonValue
    readonly at: number
  },
): Promise<void> {
  assertCurrent(agent, signed)
  if (agent.status === 'revoked' || agent.renounce_final_at !== null) return
  if (await isCompromised(tx.db, agent.public_key)) {
    throw new CodedError(
      'FORBIDDEN',
      'This key was reported as compromised: it cannot end a certificate.',
    )
  }
  await suspendRenounced(tx, agent.tail, signed.evidence, signed.at)
}

/** Suspends an agent that its key has renounced, and has it revoked 72 hours later. @param at milliseconds since 1970 */
export async function suspendRenounced(
  tx: Tx,
  tail: string,
  evidence: JsonValue,
  at: number,
): Promise<void> {
  const finalAt = at + RENOUNCE_DELAY_MS
  await changeAgent(tx, tail, { type: 'agent.renounced', finalAt }, at)
  const suspension = { to: 'suspended', reason: RENOUNCED_BY_AGENT, setBy: 'agent' } as const
  await setStatus(tx, tail, { ...suspension, evidence }, at)
  await scheduleEnd(tx, tail, finalAt)
}

function jobOf(tail: string): string {
  return `${REVOKE_RENOUNCED}:${tail}`
}

function scheduleEnd(tx: Tx, tail: string, at: number): Promise<void> {
  return scheduleJob(tx, { id: jobOf(tail), kind: REVOKE_RENOUNCED, subject: tail, run_at: at })
}

/**
 * A job that revokes an agent 72 hours after its key has renounced it. A recovery that was redeemed before is waited for: its end is
 * either a new key, or makes the job due again. Runs once, on any node.
 */
export async function revokeRenounced(
  tx: Tx,
  { subject: tail }: JobRow,
  at: number,
): Promise<void> {
  const agent = await agentByTail(tx.db, tail)
  if (agent === undefined || agent.renounce_final_at === null) return
  const recovery = await recoveryOf(tx.db, tail)
  if (recovery !== undefined && recovery.new_key !== null) return
  await markRenounced(tx, agent)
  await revokeAgent(tx, agent, { reason: RENOUNCED_BY_AGENT, setBy: 'service' }, at)
}

/** A new key, the burning of the current one or a revocation ends the renouncing. After a recovery without a new key it is due again. */
export const renouncingOfChangedAgent: AgentEffect = {
  on: [
    'agent.revoked',
    'agent.key_recovered',
    'agent.key_compromised',
    'agent.key_recovery_cancelled',
  ],
  makes: [],
  async run(tx, changed) {
    const { change, after } = changed
    const { tail, renounce_final_at: finalAt } = after
    if (finalAt === null) return
    if (change.type === 'agent.key_recovery_cancelled') return scheduleEnd(tx, tail, finalAt)
    if (change.type === 'agent.key_compromised' && !isOfCurrentKey(changed)) return
    if (await clearRenounced(tx, tail)) await cancelJob(tx, jobOf(tail))
  },
}
