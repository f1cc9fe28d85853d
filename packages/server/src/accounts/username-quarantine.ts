import { CodedError, usernameSkeleton } from '@countersign/protocol'
import type { Db, JobRow, Tx } from '../database/database.ts'
import { scheduleJob } from '../database/jobs/job-table.ts'
import type { Pepper } from '../secrets/secrets.ts'
import {
  DELETED_OWNER_ID,
  deleteReleasedUsernames,
  releasedUsername,
  upsertReleasedUsername,
} from './owner-table.ts'

/** The kind of job that deletes a released username which anyone can take again. */
export const FREE_USERNAMES = 'free-usernames'

/** For so long, links to a username that was given up cannot lead to a stranger. */
export const QUARANTINE_MS = 90 * 86_400_000

/** A username of an owner or of an agent: the two are separate namespaces. */
interface Username {
  readonly namespace: 'owner' | 'agent'
  readonly username: string
}

export interface UsernameClaim extends Username {
  /** The owner, or the owner of the agent; null for an owner without an account. */
  readonly ownerId: number | null
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}

/** Call when a username is given up. For 90 days, only the same owner can take it, or a lookalike, again. */
export async function quarantineUsername(
  tx: Tx,
  pepper: Pepper,
  claim: UsernameClaim & { readonly ownerId: number },
): Promise<void> {
  const { ownerId, at } = claim
  const run_at = at + QUARANTINE_MS
  await upsertReleasedUsername(tx, {
    hash: hashOf(pepper, claim),
    exact_hash: exactHashOf(pepper, claim),
    owner_id: ownerId,
    available_at: run_at,
  })
  const id = `${FREE_USERNAMES}:${run_at}`
  await scheduleJob(tx, { id, kind: FREE_USERNAMES, subject: '', run_at })
}

/** The job that deletes the released usernames which anyone can take again. */
export async function freeUsernames(tx: Tx, _job: JobRow, at: number): Promise<void> {
  await deleteReleasedUsernames(tx, at)
}

/** @throws CodedError VALIDATION_ERROR if another owner gave the username, or a lookalike, up less than 90 days ago */
export async function assertNotInQuarantine(
  db: Db,
  pepper: Pepper,
  claim: UsernameClaim,
): Promise<void> {
  const row = await releasedUsername(db, hashOf(pepper, claim))
  if (row === undefined || row.available_at <= claim.at || row.owner_id === claim.ownerId) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `The username ${claim.username}, or one that looks like it, was given up less than 90 days ago. Only its previous owner can take it. Choose another.`,
  )
}

/**
 * When a username was given up, for 90 days; null: never, earlier, or by an account that is deleted. Those look alike, so that
 * nobody learns from a name that its account was deleted, and when.
 * @returns milliseconds since the Unix epoch
 */
export async function givenUpAt(
  db: Db,
  pepper: Pepper,
  name: Username,
  now: number,
): Promise<number | null> {
  const row = await releasedUsername(db, hashOf(pepper, name))
  if (row === undefined || row.available_at <= now || row.owner_id === DELETED_OWNER_ID) return null
  // Lookalikes share a row, but only one of them was given up.
  if (Buffer.compare(row.exact_hash, exactHashOf(pepper, name)) !== 0) return null
  return row.available_at - QUARANTINE_MS
}

/** With a key: usernames are short, so anyone who gets the table could find out by trying which ones a plain hash is of. */
function hashOf(pepper: Pepper, { namespace, username }: Username): Uint8Array {
  return pepper.authenticate('released-usernames-v1', `${namespace}:${usernameSkeleton(username)}`)
}

function exactHashOf(pepper: Pepper, { namespace, username }: Username): Uint8Array {
  return pepper.authenticate('exact-released-usernames-v1', `${namespace}:${username}`)
}
