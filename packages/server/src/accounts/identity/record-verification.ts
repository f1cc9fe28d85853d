import { type Assurance, CodedError } from '@countersign/protocol'
import type { Database, JobRow, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { cancelJob, scheduleJob } from '../../database/jobs/job-table.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { appendNotification } from '../notifications/notify-owner.ts'
import { ownerById } from '../owner-table.ts'
import { CallbackRefusal } from '../owners/callback-failure.ts'
import { ORGANISATION_DOMAIN } from '../verification-table.ts'
import {
  deletePublishedName,
  deleteVerification,
  upsertVerification,
} from './write-verification-table.ts'

export interface VerifyOwnerDeps {
  readonly db: Database
  readonly pepper: Pepper
  readonly now: () => number
}

export interface Verification {
  readonly provider: string
  readonly issuer: string
  /** The provider's stable identifier of the person. Stored only as a hash. */
  readonly subject: string
  readonly assurance: Assurance
  /** Milliseconds since the Unix epoch, or null if it does not expire. */
  readonly expiresAt: number | null
  /** Milliseconds since the Unix epoch; by default now. */
  readonly verifiedAt?: number
  /** ISO 3166-1 alpha-2. */
  readonly country?: string | undefined
  /** The verified name, if the owner chose to publish it. Without one, a name published before is deleted. */
  readonly publishedName?: string | null
}

export const EXPIRE_VERIFICATION = 'expire-verification'

declare module '../../database/database.ts' {
  interface Effects {
    /** Run when an owner was verified, or lost a verification. `at` is the time of the change, in milliseconds since 1970. */
    readonly verificationsChanged: readonly ((
      tx: Tx,
      ownerId: number,
      at: number,
    ) => Promise<void>)[]
  }
}

async function announce(tx: Tx, ownerId: number, at: number): Promise<void> {
  for (const effect of tx.effects.verificationsChanged) await effect(tx, ownerId, at)
}

/**
 * Records that a provider has verified an owner, or renews the verification. In the same transaction, appends the
 * event, schedules the expiry and announces the change (`Effects`).
 * @param precondition runs first in the transaction; if it returns false, nothing is recorded
 * @returns whether it was recorded
 * @throws CodedError VALIDATION_ERROR if this person has verified another account with the provider, NOT_FOUND if the
 *   account was deleted; then nothing changes
 */
export async function verifyOwner(
  deps: VerifyOwnerDeps,
  ownerId: number,
  verification: Verification,
  precondition: (tx: Tx) => Promise<boolean> = async () => true,
): Promise<boolean> {
  const { provider, assurance, expiresAt } = verification
  const subjectHash = deps.pepper.hash(provider, verification.issuer, verification.subject)
  return deps.db.write(async (tx) => {
    if (!(await precondition(tx))) return false
    const at = deps.now()
    await assertAccountExists(tx, ownerId)
    const isUnique = await upsertVerification(tx, {
      owner_id: ownerId,
      provider,
      subject_hash: subjectHash,
      pepper_id: deps.pepper.id,
      assurance,
      country: verification.country ?? null,
      verified_at: Math.min(verification.verifiedAt ?? at, at),
      expires_at: expiresAt,
      published_name: verification.publishedName ?? null,
    })
    if (!isUnique) throw anotherAccount()
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
    await announce(tx, ownerId, at)
    return true
  })
}

async function assertAccountExists(tx: Tx, ownerId: number): Promise<void> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner !== undefined && owner.deleted_at === null) return
  throw new CodedError('NOT_FOUND', 'This account no longer exists.')
}

/** One person verifies one account. The unique index on the subject's hash decides races. */
function anotherAccount(): CallbackRefusal {
  return new CallbackRefusal(
    'other-account',
    'This person has verified another account with this provider. One person verifies one account.',
  )
}

/**
 * Removes an owner's verification, appends the event and announces the change (`Effects`).
 * @returns false if the owner has no verification from the provider
 */
export async function unverifyOwner(
  deps: Pick<VerifyOwnerDeps, 'db' | 'now'>,
  ownerId: number,
  provider: string,
): Promise<boolean> {
  return deps.db.write((tx) => removeVerification(tx, ownerId, provider, deps.now()))
}

/** Like `unverifyOwner`, in the transaction of what removes it. @param at milliseconds since the Unix epoch */
export async function removeVerification(
  tx: Tx,
  ownerId: number,
  provider: string,
  at: number,
): Promise<boolean> {
  if (!(await deleteVerification(tx, ownerId, provider))) return false
  const payload = { provider, reason: 'removed' }
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.identity_expired', tail: null, ownerId, payload })
  await scheduleExpiry(tx, ownerId, provider, null)
  await appendNotification(tx, {
    ownerId,
    kind: 'verification_removed',
    subject: `${provider}:${at}`,
    details: { provider },
    at,
  })
  await announce(tx, ownerId, at)
  return true
}

/**
 * Deletes the verified name that an owner publishes. The verification itself stays.
 * @throws CodedError NOT_FOUND if the owner publishes no name that the provider verified, VALIDATION_ERROR for a domain
 */
export async function withdrawName(
  deps: Pick<VerifyOwnerDeps, 'db' | 'now'>,
  ownerId: number,
  provider: string,
): Promise<void> {
  if (provider === ORGANISATION_DOMAIN) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'This verification says nothing but the domain. Remove the domain instead.',
    )
  }
  await deps.db.write(async (tx) => {
    if (!(await deletePublishedName(tx, ownerId, provider))) {
      throw new CodedError('NOT_FOUND', 'You do not publish a verified name of this provider.')
    }
    const at = deps.now()
    const seq = tx.nextSeq()
    // Events stay, so no event contains the name.
    const payload = { verifiedName: null, provider }
    await appendEvent(tx, { seq, at, type: 'owner.updated', tail: null, ownerId, payload })
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

/** A job that appends the expiry event. The verification itself has not counted since its `expires_at`. */
export async function expireVerification(tx: Tx, job: JobRow, at: number): Promise<void> {
  const { ownerId, provider } = JSON.parse(job.subject) as { ownerId: number; provider: string }
  // A domain can get another holder, who can then prove it.
  if (provider === ORGANISATION_DOMAIN) await deleteVerification(tx, ownerId, provider)
  const payload = { provider, reason: 'expired' }
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.identity_expired', tail: null, ownerId, payload })
  await appendNotification(tx, {
    ownerId,
    kind: 'verification_expired',
    subject: `${provider}:${at}`,
    details: { provider },
    at,
  })
  await announce(tx, ownerId, at)
}
