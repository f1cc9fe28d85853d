import type { Assurance } from '@countersign/protocol'
import type { Pepper } from '../adapters/secrets.ts'
import type { Database, Tx } from '../storage/database.ts'
import { appendEvent } from '../storage/events.ts'
import { deleteVerification, upsertVerification } from '../storage/identity-verifications.ts'
import { cancelJob, scheduleJob } from '../storage/jobs.ts'

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
}

export const EXPIRE_VERIFICATION = 'expire-verification'

/** Records that a provider has verified an owner, or has verified them again. */
export async function verifyOwner(
  deps: VerifyOwnerDeps,
  ownerId: number,
  verification: Verification,
): Promise<void> {
  const { provider, assurance, expiresAt } = verification
  const subjectHash = deps.pepper.hash(provider, verification.issuer, verification.subject)
  await deps.db.write(async (tx) => {
    const at = deps.now()
    await upsertVerification(tx, {
      owner_id: ownerId,
      provider,
      subject_hash: subjectHash,
      pepper_id: deps.pepper.id,
      assurance,
      country: null,
      verified_at: at,
      expires_at: expiresAt,
    })
    const facts = { provider, assurance }
    const seq = tx.nextSeq()
    await appendEvent(tx, { seq, at, type: 'owner.identity_verified', tail: null, ownerId, facts })
    await planExpiry(tx, ownerId, provider, expiresAt)
  })
}

/** @returns false where the owner has no verification from the provider */
export async function unverifyOwner(
  deps: Pick<VerifyOwnerDeps, 'db' | 'now'>,
  ownerId: number,
  provider: string,
): Promise<boolean> {
  return deps.db.write(async (tx) => {
    if (!(await deleteVerification(tx, ownerId, provider))) return false
    const facts = { provider, reason: 'removed' }
    const seq = tx.nextSeq()
    await appendEvent(tx, {
      seq,
      at: deps.now(),
      type: 'owner.identity_expired',
      tail: null,
      ownerId,
      facts,
    })
    await planExpiry(tx, ownerId, provider, null)
    return true
  })
}

async function planExpiry(
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
