import type { Registry } from '../registry.ts'

/** Agents beyond this are forgotten, the oldest first. */
const MAX_AGENTS = 10_000

const highest = new WeakMap<Registry, Map<string, number>>()

/**
 * Records the number of an agent's key. A lower number than before is outdated: the data comes from a stale cache or replica, or
 * the session from before a change of the key.
 * @returns false if a higher number was recorded before
 */
export function recordKeySequence(registry: Registry, did: string, sequence: number): boolean {
  const known = highest.get(registry) ?? new Map<string, number>()
  highest.set(registry, known)
  const last = known.get(did) ?? 0
  known.delete(did)
  known.set(did, Math.max(last, sequence))
  for (const oldest of known.keys()) {
    if (known.size <= MAX_AGENTS) break
    known.delete(oldest)
  }
  return sequence >= last
}
