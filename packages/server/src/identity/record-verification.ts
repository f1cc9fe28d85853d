import { type Assurance, CodedError } from '@countersign/protocol'
import { ownerById } from '../agents/owner-table.ts'
import { regradeOwner } from '../agents/regrade-owner.ts'
import type { Pepper } from '../core/crypto/secrets.ts'
import type { Database, JobRow, Tx } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'
import { cancelJob, scheduleJob } from '../core/jobs/job-table.ts'
import { deleteVerification, upsertVerification } from './verification-table.ts'

export interface VerifyOwnerDeps {
  readonly db: Database
  readonly pepper: Pepper
  readonly now: () => number
}

export interface Verification {
  readonly provider: string
  readonly issuer: string
  /** What the provider knows the human by. Kept as a hash only. */
  readonly subject: string
  readonly assurance: Assurance
  readonly expiresAt: number | null
  /** Now, where the provider does not say when. */
  readonly verifiedAt?: number
  /** ISO 3166-1 alpha-2. */
  readonly country?: string | undefined
}

export const EXPIRE_VERIFICATION = 'expire-verification'

/**
 * Records that a provider has verified an owner, or has verified them again.
 * @param taken what has to be true in the same transaction, or else nothing is recorded
 * @returns whether it was recorded
 * @throws CodedError VALIDATION_ERROR where the human has verified another account with the provider, NOT_FOUND where
 *   the account is gone; then nothing is changed
 */
export async function verifyOwner(
  deps: VerifyOwnerDeps,
  ownerId: number,
  verification: Verification,
  taken: (tx: Tx) => Promise<boolean> = async () => true,
): Promise<boolean> {
  const { provider, assurance, expiresAt } = verification
  const subjectHash = deps.pepper.hash(provider, verification.issuer, verification.subject)
  return deps.db.write(async (tx) => {
    if (!(await taken(tx))) return false
    const at = deps.now()
    await requireAccount(tx, ownerId)
    const isTheirs = await upsertVerification(tx, {
      owner_id: ownerId,
      provider,
      subject_hash: subjectHash,
      pepper_id: deps.pepper.id,
      assurance,
      country: verification.country ?? null,
      verified_at: Math.min(verification.verifiedAt ?? at, at),
      expires_at: expiresAt,
    })
    if (!isTheirs) throw anotherAccount()
    const payload = { provider, assurance }
    const seq = tx.nextSeq()
    await appendEvent(tx, {
      seq,
      at,
      type: 'owner.identity_verified',
      tail: null,
      ownerId,
      payload,
    })
    await scheduleExpiry(tx, ownerId, provider, expiresAt)
    await regradeOwner(tx, ownerId, at)
    return true
  })
}

async function requireAccount(tx: Tx, ownerId: number): Promise<void> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner !== undefined && owner.deleted_at === null) return
  throw new CodedError('NOT_FOUND', 'There is no such account any more.')
}

/** One human, one account: the unique index says so, whoever comes first. */
function anotherAccount(): CodedError {
  return new CodedError(
    'VALIDATION_ERROR',
    'This person has verified another account with this provider. One person verifies one account.',
  )
}

/** @returns false where the owner has no verification from the provider */
export async function unverifyOwner(
  deps: Pick<VerifyOwnerDeps, 'db' | 'now'>,
  ownerId: number,
  provider: string,
): Promise<boolean> {
  return deps.db.write(async (tx) => {
    if (!(await deleteVerification(tx, ownerId, provider))) return false
    const at = deps.now()
    const payload = { provider, reason: 'removed' }
    const seq = tx.nextSeq()
    await appendEvent(tx, { seq, at, type: 'owner.identity_expired', tail: null, ownerId, payload })
    await scheduleExpiry(tx, ownerId, provider, null)
    await regradeOwner(tx, ownerId, at)
    return true
  })
}

async function scheduleExpiry(
  tx: Tx,
  ownerId: number,
  provider: string,
  expiresAt: number | null,
): Promise<void> {
  const id = `${EXPIRE_VERIFICATION}:${ownerId}:${provider}`
  if (expiresAt === null) return cancelJob(tx, id)
  const subject = JSON.stringify({ ownerId, provider })
  await scheduleJob(tx, { id, kind: EXPIRE_VERIFICATION, subject, run_at: expiresAt })
}

/** A job: records that a verification has expired. It has not counted since its date; followers learn it from the event. */
export async function expireVerification(tx: Tx, job: JobRow, at: number): Promise<void> {
  const { ownerId, provider } = JSON.parse(job.subject) as { ownerId: number; provider: string }
  const payload = { provider, reason: 'expired' }
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.identity_expired', tail: null, ownerId, payload })
  await regradeOwner(tx, ownerId, at)
}
