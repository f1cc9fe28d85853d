import {
  CodedError,
  isRecoveryToken,
  type JsonValue,
  type RecoverRequest,
  type RecoverResponse,
  type Tail,
  type Vetoed,
  type VetoRequest,
} from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, KeyRecoveryRow, Tx } from '../../database/database.ts'
import { scheduleJob } from '../../database/jobs/job-table.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { RENOUNCED_MESSAGE } from '../changes/holds.ts'
import { completeRecovery } from './complete-recovery.ts'
import { COMPLETE_RECOVERY, endRecovery, recoveryJobOf } from './end-recovery.ts'
import { currentSince, isCompromised, recoveryOf, redeemRecovery } from './key-table.ts'
import { assertUsable } from './key-use.ts'
import {
  assertRecent,
  assertSigned,
  decodeNewKey,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from './signed-operation.ts'

interface Redemption {
  readonly tail: Tail
  readonly sequence: number
  readonly newKey: Uint8Array
  /** SHA-256 of the recovery token. */
  readonly tokenHash: Uint8Array
}

/**
 * Redeems a recovery token: the key that signs becomes the current one of the agent after the delay. Repeating a redemption changes
 * nothing and returns the same.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND or TOKEN_EXPIRED (token), CONFLICT if `sequence` is not the next one,
 *   INVALID_SIGNATURE, AGENT_NOT_ACTIVE, KEY_ALREADY_CLAIMED
 */
export async function recover(
  deps: KeyOperationDeps,
  reference: string,
  request: RecoverRequest,
): Promise<RecoverResponse> {
  const { db, site, now } = deps
  const { recoveryToken, sequence, issuedAt } = request
  const tail = tailOf(site.naming, reference)
  const newKey = decodeNewKey(deps, 'publicKey', request.publicKey)
  const signature = decodeSigned(request.signature)
  if (!isRecoveryToken(site.naming, recoveryToken)) {
    throw new CodedError('VALIDATION_ERROR', 'The recovery token is malformed.')
  }
  assertRecent(issuedAt, now())
  const redemption = { tail, sequence, newKey, tokenHash: hashToken(recoveryToken) }
  const agent = await requireAgent(db.read, tail)
  const isCompleted = isRecovered(agent, redemption)
  if (!isCompleted) {
    assertToken(await recoveryOf(db.read, tail), redemption, now())
    assertNext(agent, sequence)
  }
  const did = didOfAgent(site, tail)
  const target = { service: site.baseUrl, did, sequence, oldKey: null, newKey }
  const signed = { operation: 'recover', ...target, issuedAt, recoveryToken } as const
  await assertSigned(deps, signed, { key: newKey, signature, whose: 'the new key' })
  const effectiveAt = isCompleted
    ? currentSince(agent)
    : await db.write((tx) => redeemInTransaction(deps, tx, redemption))
  return {
    [site.naming.didField]: did,
    keySequence: sequence,
    effectiveAt: timestamp(effectiveAt),
  }
}

/** Whether the recovery has taken effect already. Only the holder of the new key can repeat the redemption. */
function isRecovered(agent: AgentRow, { sequence, newKey }: Redemption): boolean {
  return (
    agent.key_sequence === sequence &&
    agent.key_changed_by === 'recovery' &&
    Buffer.compare(agent.public_key, newKey) === 0
  )
}

/** Whether the token was used for the same key: the response to the first attempt may have been lost. */
function isRepeated(recovery: KeyRecoveryRow, newKey: Uint8Array): boolean {
  if (recovery.token_used_at === null || recovery.new_key === null) return false
  return Buffer.compare(recovery.new_key, newKey) === 0
}

/** @throws CodedError NOT_FOUND, TOKEN_EXPIRED */
function assertToken(
  recovery: KeyRecoveryRow | undefined,
  { tokenHash, newKey }: Redemption,
  now: number,
): KeyRecoveryRow {
  if (recovery === undefined || Buffer.compare(recovery.token_hash, tokenHash) !== 0) {
    throw new CodedError(
      'NOT_FOUND',
      'This is not the recovery token of this agent: it was never issued, a newer one replaced it, or the recovery has ended.',
    )
  }
  if (isRepeated(recovery, newKey)) return recovery
  if (recovery.token_used_at !== null) {
    throw new CodedError('TOKEN_EXPIRED', 'This recovery token has been used.')
  }
  if (recovery.token_expires_at > now) return recovery
  throw new CodedError(
    'TOKEN_EXPIRED',
    'This recovery token has expired: it was valid for 10 minutes. The owner can issue a fresh one.',
  )
}

/** @throws CodedError CONFLICT */
function assertNext({ key_sequence: current }: AgentRow, sequence: number): void {
  if (sequence === current + 1) return
  throw new CodedError(
    'CONFLICT',
    `The current key of this agent has the sequence ${current}, so the next one is ${current + 1}.`,
  )
}

/** @returns when the new key takes effect, in milliseconds since 1970 */
async function redeemInTransaction(
  { keyReuse, recoveryDelayMs, now }: KeyOperationDeps,
  tx: Tx,
  redemption: Redemption,
): Promise<number> {
  const { tail, sequence, newKey } = redemption
  const at = now()
  const agent = await requireAgent(tx.db, tail)
  const recovery = assertToken(await recoveryOf(tx.db, tail), redemption, at)
  if (recovery.effective_at !== null && isRepeated(recovery, newKey)) return recovery.effective_at
  assertNext(agent, sequence)
  if (agent.status === 'revoked') {
    throw new CodedError('AGENT_NOT_ACTIVE', 'This agent is revoked, which is final.')
  }
  await assertUsable(tx, agent, newKey, keyReuse, at)
  const effectiveAt = at + recoveryDelayMs
  if (!(await redeemRecovery(tx, recovery, { newKey, at, effectiveAt }))) {
    throw new Error('a recovery token could not be used that was valid in the same transaction')
  }
  const change = { type: 'agent.key_recovery_redeemed', newKey, sequence, effectiveAt } as const
  await changeAgent(tx, tail, change, at)
  if (recoveryDelayMs === 0) await completeRecovery(tx, tail, keyReuse, at)
  else await scheduleCompletion(tx, tail, keyReuse, effectiveAt)
  return effectiveAt
}

function scheduleCompletion(
  tx: Tx,
  tail: Tail,
  keyReuse: KeyOperationDeps['keyReuse'],
  at: number,
): Promise<void> {
  const subject = JSON.stringify({ tail, keyReuse })
  return scheduleJob(tx, { id: recoveryJobOf(tail), kind: COMPLETE_RECOVERY, subject, run_at: at })
}

/**
 * Ends a recovery for the holder of the current key, which the owner took for lost. Only a recovery with the reason `key_lost` can
 * be vetoed.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, INVALID_SIGNATURE; CONFLICT if `sequence` is not that of the current key, it has
 *   renounced the agent, or no recovery can be vetoed; FORBIDDEN if the key was reported as compromised
 */
export async function vetoRecovery(
  deps: KeyOperationDeps,
  reference: string,
  { sequence, issuedAt, signature: encoded }: VetoRequest,
): Promise<Vetoed> {
  const { db, site, now } = deps
  const tail = tailOf(site.naming, reference)
  const signature = decodeSigned(encoded)
  assertRecent(issuedAt, now())
  const { public_key: key } = await requireAgent(db.read, tail)
  const did = didOfAgent(site, tail)
  const target = { service: site.baseUrl, did, sequence, oldKey: key, newKey: null, issuedAt }
  const whose = 'the agent’s current key'
  await assertSigned(deps, { operation: 'veto', ...target }, { key, signature, whose })
  const evidence = { service: site.baseUrl, issuedAt, signature: encoded }
  await db.write((tx) => vetoInTransaction(tx, { tail, sequence, key, evidence, at: now() }))
  return { [site.naming.didField]: did, keySequence: sequence }
}

async function vetoInTransaction(
  tx: Tx,
  veto: {
    readonly tail: Tail
    readonly sequence: number
    readonly key: Uint8Array
    readonly evidence: JsonValue
    readonly at: number
  },
): Promise<void> {
  const agent = await requireAgent(tx.db, veto.tail)
  const isCurrent = Buffer.compare(agent.public_key, veto.key) === 0
  if (!isCurrent || agent.key_sequence !== veto.sequence) {
    throw new CodedError(
      'CONFLICT',
      `The current key of this agent has the sequence ${agent.key_sequence}.`,
    )
  }
  if (await isCompromised(tx.db, veto.key)) {
    throw new CodedError('FORBIDDEN', 'This key was reported as compromised: it cannot veto.')
  }
  if (agent.renounce_final_at !== null) throw new CodedError('CONFLICT', RENOUNCED_MESSAGE)
  if ((await recoveryOf(tx.db, veto.tail)) === undefined) {
    throw new CodedError('CONFLICT', 'No recovery of this agent is pending.')
  }
  const { tail, evidence, at } = veto
  await endRecovery(tx, tail, { type: 'agent.key_recovery_vetoed', evidence }, at)
}
