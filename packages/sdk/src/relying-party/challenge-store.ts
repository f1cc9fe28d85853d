/**
 * Stores the unanswered challenges of a relying party. Several processes must share one store, such as Redis:
 * `SET key 1 PX ms` and `GETDEL key`.
 */
export interface ChallengeStore {
  /**
   * Stores a key.
   * @param key text without white space
   * @param lifetimeMs after how many milliseconds it expires
   */
  put(key: string, lifetimeMs: number): Promise<void>
  /**
   * Takes a key out. Of several who take the same one at the same moment, exactly one is told true.
   * @returns whether it was there
   */
  take(key: string): Promise<boolean>
}

/**
 * A store in the memory of this process.
 * @param maxEntries the oldest challenges are evicted beyond this, to bound the memory. Default: 100,000
 * @param now the clock, in milliseconds
 */
export function memoryChallengeStore(
  maxEntries = 100_000,
  now: () => number = Date.now,
): ChallengeStore {
  // In order of insertion.
  const expiries = new Map<string, number>()
  const dropExpired = () => {
    for (const [key, end] of expiries) {
      if (end > now() && expiries.size <= maxEntries) return
      expiries.delete(key)
    }
  }
  return {
    async put(key, lifetimeMs) {
      expiries.delete(key)
      expiries.set(key, now() + lifetimeMs)
      dropExpired()
    },
    async take(key) {
      const end = expiries.get(key)
      return expiries.delete(key) && end !== undefined && end > now()
    },
  }
}
