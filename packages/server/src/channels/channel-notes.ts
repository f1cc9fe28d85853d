import type { SessionState } from '@countersign/protocol'
import { displayNameOf } from '../agents/card.ts'
import { timestamp } from '../core/timestamp.ts'
import { type TroubledChannelRow, troubledChannels } from './channel-table.ts'
import type { ChannelDeps } from './deps.ts'
import { FAILING_MS, isCounting } from './schedule.ts'

type ChannelNote = SessionState['channelNotes'][number]
type Trouble = Pick<ChannelNote, 'trouble'> & { readonly until: number | null }

/** So long before its time is over an owner is asked for a fresh proof. */
const ENDING_MS = 14 * 24 * 3_600_000
const MOST_NOTES = 20

/**
 * What an owner is told of their channels on every page: those that need them, the worst first. Of revoked agents nothing:
 * there is nothing to be done.
 */
export async function channelNotes(
  { db, outside, now }: Pick<ChannelDeps, 'db' | 'outside' | 'now'>,
  ownerId: number,
): Promise<ChannelNote[]> {
  const at = now()
  const times = { now: at, endingBy: at + ENDING_MS }
  const rows = await troubledChannels(db.read, ownerId, times, MOST_NOTES)
  return rows.map((row) => {
    const { tail, display_name: displayName, username } = row
    const { trouble, until } = troubleOf(row, at)
    return {
      tail,
      displayName: displayNameOf({ tail, profile: { displayName, username } }),
      label: outside.kinds.find(({ id }) => id === row.kind)?.label ?? row.kind,
      handleOrDomain: row.handle_or_domain,
      trouble,
      until: until === null ? null : timestamp(until),
    }
  })
}

/** @returns the trouble, and until when the channel counts if nothing is done */
function troubleOf(row: TroubledChannelRow, now: number): Trouble {
  if (!isCounting(row, now)) return { trouble: 'stale', until: null }
  const { failing_since: since, fresh_until: end } = row
  if (since === null) return { trouble: 'ending', until: end }
  const decided = Math.max(since + FAILING_MS, now)
  return { trouble: 'failing', until: Math.min(decided, end ?? decided) }
}
