import { createHash } from 'node:crypto'
import { CodedError, usernameSkeleton } from '@countersign/protocol'
import type { Db, Tx } from '../database/database.ts'
import { releasedUsername, upsertReleasedUsername } from './owner-table.ts'

/** For so long, links to a username that was given up cannot lead to a stranger. */
export const QUARANTINE_MS = 90 * 86_400_000

/** A username of an owner or of an agent: the two are separate namespaces. */
export interface UsernameClaim {
  readonly namespace: 'owner' | 'agent'
  readonly username: string
  /** The owner, or the owner of the agent; null for an owner without an account. */
  readonly ownerId: number | null
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}

/** Call when a username is given up. For 90 days, only the same owner can take it, or a lookalike, again. */
export async function quarantineUsername(
  tx: Tx,
  claim: UsernameClaim & { readonly ownerId: number },
): Promise<void> {
  const { ownerId, at } = claim
  const row = { hash: hashOf(claim), owner_id: ownerId, available_at: at + QUARANTINE_MS }
  await upsertReleasedUsername(tx, row, at)
}

/** @throws CodedError VALIDATION_ERROR if another owner gave the username, or a lookalike, up less than 90 days ago */
export async function assertNotInQuarantine(db: Db, claim: UsernameClaim): Promise<void> {
  const row = await releasedUsername(db, hashOf(claim))
  if (row === undefined || row.available_at <= claim.at || row.owner_id === claim.ownerId) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `The username ${claim.username}, or one that looks like it, was given up less than 90 days ago. Only its previous owner can take it. Choose another.`,
  )
}

function hashOf({ namespace, username }: UsernameClaim): Uint8Array {
  return createHash('sha256')
    .update(`${namespace}:${usernameSkeleton(username)}`)
    .digest()
}
