import type { AgentRow, Tx } from '../database/database.ts'

/**
 * Keeps what the commitments about an agent open to with the owner who gave the agent away. Entries that wait have their owner in
 * the queue.
 * @param agent its tail, and its `seq`, which is the number of its claim
 */
export async function setOpeningOwner(
  { db }: Tx,
  agent: Pick<AgentRow, 'tail' | 'seq'>,
  ownerId: number,
): Promise<void> {
  const owned = db
    .updateTable('log_entries')
    .set({ opening_owner: ownerId })
    .where('opening_owner', 'is', null)
  await owned.where('claim', '=', agent.seq).execute()
  await owned.where('tail', '=', agent.tail).where('claim', 'is', null).execute()
}

/**
 * Erases what commitments about agents open to as far as it is an owner's, and who caused the changes of theirs that wait.
 * @param isOwner whether the agents are theirs; else they were before
 */
export async function eraseOpenings(
  { db }: Tx,
  ownerId: number,
  tails: readonly string[],
  isOwner: boolean,
): Promise<void> {
  const erased = db
    .updateTable('log_entries')
    .set({ salt: null, evidence: null })
    .where(({ or, eb }) =>
      isOwner
        ? or([eb('opening_owner', '=', ownerId), eb('opening_owner', 'is', null)])
        : eb('opening_owner', '=', ownerId),
    )
  const seqs = db.selectFrom('agents').select('seq').where('tail', 'in', tails)
  await erased.where('claim', 'in', seqs).execute()
  await erased.where('tail', 'in', tails).where('claim', 'is', null).execute()
  await db
    .updateTable('log_queue')
    .set({ evidence: null, owner_id: null })
    .where('tail', 'in', tails)
    .where('owner_id', '=', ownerId)
    .execute()
}
