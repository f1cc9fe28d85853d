import {
  CodedError,
  type IssuedRecoveryToken,
  KEY_COMPROMISED,
  RECOVERY_TOKEN_LIFETIME_MS,
  type RecoveryReason,
  randomRecoveryToken,
} from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { assertEstablishedMethod } from '../../accounts/owners/established-method.ts'
import type { Session } from '../../accounts/owners/session.ts'
import { hashToken } from '../../base/hash-token.ts'
import { tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { burnKey } from '../changes/set-status.ts'
import { assertNotEnrolled } from '../enrolment/enrolment-of-agent.ts'
import { requireOwn } from '../find-agent.ts'
import { hasOpenTransfer } from '../transfers/transfer-table.ts'
import { endRecovery } from './end-recovery.ts'
import { insertRecovery, recoveryOf, replaceRecoveryToken } from './key-table.ts'

export type StartRecoveryDeps = Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'>

/**
 * Starts to recover the key of an agent. With the reason `key_compromised`, the key is burned and the agent suspended at once, even
 * if the token is never used.
 * @param reference the agent's DID or its tail
 * @returns the recovery token, which is returned only here: the database stores its hash
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, RECENT_SIGN_IN_REQUIRED; FORBIDDEN if the owner is suspended; AGENT_NOT_ACTIVE
 *   if the agent is revoked; CONFLICT if a recovery of the agent is pending, or a transfer of it is open
 */
export function startRecovery(
  deps: StartRecoveryDeps,
  session: Session,
  reference: string,
  reason: RecoveryReason,
): Promise<IssuedRecoveryToken> {
  return withToken(deps, session, reference, async (tx, agent, { hash, at, expiresAt }) => {
    const { tail } = agent
    if (await hasOpenTransfer(tx.db, tail)) {
      throw new CodedError(
        'CONFLICT',
        'A transfer of this agent to another owner is open. Cancel it first.',
      )
    }
    const token = { token_hash: hash, token_expires_at: expiresAt }
    const started_by = session.membership?.id ?? null
    if (!(await insertRecovery(tx, { tail, reason, started_at: at, ...token, started_by }))) {
      throw new CodedError(
        'CONFLICT',
        'A recovery of this agent is pending. Issue a fresh token for it, or cancel it first.',
      )
    }
    await changeAgent(tx, tail, { type: 'agent.key_recovery_started', reason }, at)
    if (reason !== KEY_COMPROMISED) return
    await burnKey(tx, agent.public_key, at, { tail, isSilent: true })
  })
}

/**
 * Issues a fresh token for a pending recovery, which invalidates the one before it. If the agent has redeemed that already, the
 * new redemption replaces the new key and the delay starts again.
 * @throws CodedError as `startRecovery`; CONFLICT if no recovery of the agent is pending, or another member has started it
 */
export function reissueToken(
  deps: StartRecoveryDeps,
  session: Session,
  reference: string,
): Promise<IssuedRecoveryToken> {
  return withToken(deps, session, reference, async (tx, { tail }, { hash, expiresAt }) => {
    const recovery = await recoveryOf(tx.db, tail)
    if (recovery === undefined) throw nonePending()
    // A recovery ends with the membership of one member: no other may have a token or a new key in it.
    if (recovery.started_by !== (session.membership?.id ?? null)) {
      throw new CodedError(
        'CONFLICT',
        'Another member has started this recovery. To go on yourself, cancel it, then start another one.',
      )
    }
    await replaceRecoveryToken(tx, tail, { token_hash: hash, token_expires_at: expiresAt })
  })
}

/**
 * Cancels the pending recovery of an agent. A burned key stays burned, and a suspended agent suspended.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; FORBIDDEN if the owner is suspended; CONFLICT if no recovery is pending
 */
export async function cancelRecovery(
  { db, site, now }: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
): Promise<void> {
  const tail = tailOf(site.naming, reference)
  await db.write(async (tx) => {
    await assertOwnerNotSuspended(tx.db, ownerId)
    await requireOwn(tx.db, ownerId, tail)
    if ((await recoveryOf(tx.db, tail)) === undefined) throw nonePending()
    const end = { type: 'agent.key_recovery_cancelled', reason: 'owner' } as const
    await endRecovery(tx, tail, end, now())
  })
}

function nonePending(): CodedError {
  return new CodedError('CONFLICT', 'No recovery of this agent is pending.')
}

interface NewToken {
  /** SHA-256 of the token. */
  readonly hash: Uint8Array
  /** Milliseconds since 1970. */
  readonly at: number
  readonly expiresAt: number
}

async function withToken(
  deps: StartRecoveryDeps,
  session: Session,
  reference: string,
  work: (tx: Tx, agent: AgentRow, token: NewToken) => Promise<void>,
): Promise<IssuedRecoveryToken> {
  const { db, site, now, randomBytes } = deps
  const tail = tailOf(site.naming, reference)
  const recoveryToken = randomRecoveryToken(site.naming, randomBytes)
  const hash = hashToken(recoveryToken)
  return db.write(async (tx) => {
    const at = now()
    const expiresAt = at + RECOVERY_TOKEN_LIFETIME_MS
    const agent = await requireOwn(tx.db, session.ownerId, tail)
    await assertEstablishedMethod(tx, session, at)
    await assertOwnerNotSuspended(tx.db, session.ownerId)
    if (agent.status === 'revoked') {
      throw new CodedError('AGENT_NOT_ACTIVE', 'This agent is revoked, which is final.')
    }
    await assertNotEnrolled(tx.db, tail)
    await work(tx, agent, { hash, at, expiresAt })
    const expiresIn = RECOVERY_TOKEN_LIFETIME_MS / 1000
    return { recoveryToken, expiresAt: timestamp(expiresAt), expiresIn }
  })
}
