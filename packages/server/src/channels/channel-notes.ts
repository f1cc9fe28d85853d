import type { SessionState } from '@countersign/protocol'
import { displayNameOf } from '../agents/card.ts'
import { timestamp } from '../base/timestamp.ts'
import { FAILING_MS, isVerified } from './channel-state.ts'
import { type TroubledChannelRow, troubledChannels } from './channel-table.ts'
import type { ChannelDeps } from './kinds/kind.ts'

type ChannelNote = SessionState['channelNotes'][number]
type Trouble = Pick<ChannelNote, 'trouble'> & { readonly until: number | null }

/** How long before the expiry of a proof its owner is asked for a fresh one. */
const EXPIRY_NOTICE_MS = 14 * 24 * 3_600_000
const MAX_NOTES = 20

/**
 * The owner's channels that need attention, the most urgent first, for the notice on every page of the dashboard. Channels
 * of revoked agents are left out, because the owner can no longer prove them.
 */
export async function channelNotes(
  { db, channelSources, now }: Pick<ChannelDeps, 'db' | 'channelSources' | 'now'>,
  ownerId: number,
): Promise<ChannelNote[]> {
  const at = now()
  const times = { now: at, endingBy: at + EXPIRY_NOTICE_MS }
  const rows = await troubledChannels(db.read, ownerId, times, MAX_NOTES)
  return rows.map((row) => {
    const { tail, display_name: displayName, username } = row
    const { trouble, until } = troubleOf(row, at)
    return {
      tail,
      displayName: displayNameOf({ tail, profile: { displayName, username } }),
      label: channelSources.kinds.find(({ id }) => id === row.kind)?.label ?? row.kind,
      handleOrDomain: row.handle_or_domain,
      trouble,
      until: until === null ? null : timestamp(until),
    }
  })
}

/** @returns the trouble, and when the channel becomes stale if the owner does nothing (milliseconds since 1970) */
function troubleOf(row: TroubledChannelRow, now: number): Trouble {
  if (!isVerified(row, now)) return { trouble: 'stale', until: null }
  const { failing_since: since, fresh_until: end } = row
  if (since === null) return { trouble: 'ending', until: end }
  const staleAt = Math.max(since + FAILING_MS, now)
  return { trouble: 'failing', until: Math.min(staleAt, end ?? staleAt) }
}
