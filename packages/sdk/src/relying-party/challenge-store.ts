/**
 * Where a relying party keeps the challenges that it has asked and nobody has answered. With several processes, give
 * them one in common, such as Redis: `SET key 1 PX ms` and `GETDEL key`.
 */
export interface ChallengeStore {
  /**
   * Keeps a key.
   * @param key text without white space
   * @param lifetimeMs after so many milliseconds it is gone
   */
  put(key: string, lifetimeMs: number): Promise<void>
  /**
   * Takes a key out. Of several who take the same one at the same moment, exactly one is told true.
   * @returns whether it was there
   */
  take(key: string): Promise<boolean>
}

/**
 * Challenges in the memory of this process.
 * @param maxEntries beyond that the oldest go, so that asking for challenges fills no memory. Default: 100,000
 * @param now the clock, in milliseconds
 */
export function memoryChallengeStore(
  maxEntries = 100_000,
  now: () => number = Date.now,
): ChallengeStore {
  // In the order in which they were put.
  const endings = new Map<string, number>()
  const dropExpired = () => {
    for (const [key, end] of endings) {
      if (end > now() && endings.size <= maxEntries) return
      endings.delete(key)
    }
  }
  return {
    async put(key, lifetimeMs) {
      endings.delete(key)
      endings.set(key, now() + lifetimeMs)
      dropExpired()
    },
    async take(key) {
      const end = endings.get(key)
      return endings.delete(key) && end !== undefined && end > now()
    },
  }
}
