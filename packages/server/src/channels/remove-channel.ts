import type { ChannelDeps } from './channel-deps.ts'
import { planEnd } from './channel-end.ts'
import { deleteChannel } from './channel-table.ts'
import { requireOwnChannel } from './own-channel.ts'
import { tellOfChannel } from './record-channel-event.ts'

/**
 * Removes a channel with its history. One that was never proven goes without a word.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function removeChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<void> {
  await deps.db.write(async (tx) => {
    const { agent, channel } = await requireOwnChannel(tx.db, deps, ownerId, reference, id)
    await deleteChannel(tx, id)
    await planEnd(tx, id, null)
    if (channel.verified_at === null) return
    const told = { channel, type: 'channel.removed', facts: { reason: 'owner' } } as const
    await tellOfChannel(tx, agent, { ...told, at: deps.now() })
  })
}
