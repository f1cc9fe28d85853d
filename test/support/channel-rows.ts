import { randomUUID } from 'node:crypto'
import type { ChannelRow, Tx } from '../../packages/server/src/database/database.ts'

type Place = Pick<ChannelRow, 'kind' | 'handle_or_domain' | 'tier'>

/** Inserts a proven channel without checks, events or scheduled rechecks. */
export async function insertProvenChannel(
  tx: Tx,
  tail: string,
  place: Place & Partial<ChannelRow>,
): Promise<void> {
  const now = Date.now()
  const row: ChannelRow = {
    id: randomUUID(),
    tail,
    created_at: now,
    proof_token: null,
    proof_expires_at: null,
    proven_token: 'a'.repeat(22),
    proven_by: 'dns',
    verified_at: now,
    checked_at: now,
    fresh_until: null,
    stale_since: null,
    failures: 0,
    failing_since: null,
    failed_at: null,
    ...place,
  }
  await tx.db.insertInto('channels').values(row).execute()
}
