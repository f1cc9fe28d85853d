import { type AgentKeys, CONTEST_WINDOW_MS } from '@countersign/protocol'

export type Key = AgentKeys['keys'][number]

/** A key that a rotation of the last 72 hours replaced, and the end of the time to contest that. */
export interface Contestable {
  readonly key: Key
  /** Unix milliseconds. */
  readonly until: number
}

/** What can be contested, and of which agent. */
export interface ContestProps {
  readonly did: string
  /** Newest first; at least one. */
  readonly contestable: readonly [Contestable, ...Contestable[]]
  /** Whether a recovery is pending. */
  readonly isRecovering: boolean
}

/**
 * The former keys that a contest may name as the last good one, newest first. The service checks the same: only rotations have
 * replaced the key since, the first of them less than 72 hours ago.
 * @param now Unix milliseconds
 */
export function contestableKeys(keys: readonly Key[], now: number): Contestable[] {
  const found: Contestable[] = []
  for (const [i, key] of [...keys.entries()].toReversed()) {
    const isReplacedByRotation = keys[i + 1]?.changedBy === 'rotation'
    if (key.until === null || !isReplacedByRotation) {
      if (i === keys.length - 1) continue
      break
    }
    const until = Date.parse(key.until) + CONTEST_WINDOW_MS
    if (until > now && key.state === 'retired') found.push({ key, until })
  }
  return found
}
