import type { AccountExport } from '@countersign/protocol'
import type { Db } from '../core/database/database.ts'
import { timestamp } from '../core/timestamp.ts'
import { checksOfAgent } from './channel-check-table.ts'
import { leasesOfAgent } from './channel-lease-table.ts'
import { channelsOfAgent } from './channel-table.ts'
import { describeChannel, describeCheck } from './describe-channel.ts'

type ExportedChannel = AccountExport['agents'][number]['channels'][number]

/** All that is held on the channels of an agent, but for tokens: who has an open one can prove the channel. */
export async function exportChannels(
  db: Db,
  tail: string,
  now: number,
): Promise<ExportedChannel[]> {
  const channels = await channelsOfAgent(db, tail)
  if (channels.length === 0) return []
  const leases = new Map((await leasesOfAgent(db, tail)).map((each) => [each.channel_id, each]))
  const checks = Map.groupBy(await checksOfAgent(db, tail), (each) => each.channel_id)
  return channels.map((channel) => ({
    ...describeChannel(channel, leases.get(channel.id), now),
    id: channel.id,
    method: channel.proven_by,
    tokenExpiresAt: channel.proof_expires_at === null ? null : timestamp(channel.proof_expires_at),
    checks: (checks.get(channel.id) ?? []).map(describeCheck),
  }))
}
