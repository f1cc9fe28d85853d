import { ownerById } from '../../accounts/owner-table.ts'
import { ownsAgents } from '../../agents/agent-table.ts'
import type { JobRow, Tx } from '../../database/database.ts'
import { eraseAccount } from './delete-account.ts'
import { wasEverVerified } from './owner-data-table.ts'

/** A job that deletes an account whose owner has never verified or claimed anything. */
export async function expireUnusedAccount(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const ownerId = Number(subject)
  const owner = await ownerById(tx.db, ownerId)
  if (owner === undefined || owner.deleted_at !== null) return
  if ((await ownsAgents(tx.db, ownerId)) || (await wasEverVerified(tx.db, ownerId))) return
  await eraseAccount(tx, ownerId, at)
}
