import type { NonceStore } from './signed-request-types.ts'

/** Options of `memoryNonceStore`. */
export interface MemoryNonceStoreOptions {
  /** How many nonces it holds at most. Nothing unexpired is evicted. Default: 200,000. */
  readonly maxEntries?: number | undefined
  /** The clock, in milliseconds since 1970. Default: the system's. */
  readonly now: () => number
}

const DEFAULT_MAX_ENTRIES = 200_000
/** One key takes at most this part of a store, so that one agent cannot lock out the others. */
const SHARE = 16

/**
 * A nonce store in the memory of this process, for a site that is one process. It does not know the nonces of requests that were
 * signed before it was created, nor further ones while it is full: `unchecked`.
 */
export function memoryNonceStore({
  maxEntries = DEFAULT_MAX_ENTRIES,
  now,
}: MemoryNonceStoreOptions): NonceStore {
  const startedAt = now()
  const share = Math.max(1, Math.floor(maxEntries / SHARE))
  const hashes = new Set<string>()
  const keys = new Map<string, KeyShare>()
  const bySecond = new Map<number, { readonly hash: string; readonly key: KeyShare }[]>()
  /** What expired before this second is gone. */
  let purgedTo = Math.floor(startedAt / 1000)

  const purge = () => {
    const second = Math.floor(now() / 1000)
    for (; purgedTo < second && bySecond.size > 0; purgedTo += 1) {
      for (const { hash, key } of bySecond.get(purgedTo) ?? []) {
        hashes.delete(hash)
        key.used -= 1
        if (key.used === 0) keys.delete(key.keyid)
      }
      bySecond.delete(purgedTo)
    }
    purgedTo = Math.max(purgedTo, second)
  }

  return {
    record({ hash, keyid, createdAt, expiresAt }) {
      purge()
      if (hashes.has(hash)) return 'used'
      const second = Math.floor(expiresAt / 1000)
      // The clock went backwards: this nonce may have been recorded and purged.
      if (second < purgedTo) return 'unchecked'
      const key = keys.get(keyid) ?? { keyid, used: 0 }
      if (key.used >= share) return 'share-exceeded'
      if (hashes.size >= maxEntries) return 'unchecked'
      hashes.add(hash)
      key.used += 1
      keys.set(keyid, key)
      const bucket = bySecond.get(second)
      if (bucket === undefined) bySecond.set(second, [{ hash, key }])
      else bucket.push({ hash, key })
      return createdAt < startedAt ? 'unchecked' : 'fresh'
    },
  }
}

interface KeyShare {
  readonly keyid: string
  used: number
}
