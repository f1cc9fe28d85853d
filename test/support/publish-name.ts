import { appendEvent } from '../../packages/server/src/database/event-table.ts'
import type { TestService } from './service.ts'
import { until } from './until.ts'

/** Publishes a name for all verifications of an owner, as if their provider had verified it, and waits until the service shows it. */
export async function publishName(
  service: TestService,
  ownerId: number,
  name: string,
  did: string,
): Promise<void> {
  await service.operator.db.write(async (tx) => {
    await tx.db
      .updateTable('identity_verifications')
      .set({ published_name: name })
      .where('owner_id', '=', ownerId)
      .execute()
    const event = { seq: tx.nextSeq(), at: Date.now(), tail: null, ownerId, payload: {} }
    await appendEvent(tx, { ...event, type: 'owner.updated' })
  })
  await until(async () => {
    const agent = await (await fetch(`${service.url}/api/agents/${did}`)).json()
    return (agent as { ownerName: { verified: unknown } }).ownerName.verified !== null
  })
}
