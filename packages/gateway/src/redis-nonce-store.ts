import type { NonceStore } from '@countersign/sdk'

/** The part of a Redis client that the store uses: that of ioredis. */
export interface RedisClient {
  set(key: string, value: string, px: 'PX', milliseconds: number, nx: 'NX'): Promise<unknown>
}

/** Options of `redisNonceStore`. */
export interface RedisNonceStoreOptions {
  /** What the keys begin with. Default: `countersign:nonce:`. */
  readonly prefix?: string | undefined
  /** How long an answer of Redis may take, in milliseconds. Default: 500. */
  readonly timeoutMs?: number | undefined
  /** The clock, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/**
 * A nonce store in Redis, shared by all processes that accept requests for the same audiences. If Redis does not answer in time,
 * it cannot tell (`unchecked`). Redis must not evict keys (`maxmemory-policy noeviction`).
 */
export function redisNonceStore(
  client: RedisClient,
  { prefix = 'countersign:nonce:', timeoutMs = 500, now = Date.now }: RedisNonceStoreOptions = {},
): NonceStore {
  return {
    async record({ hash, expiresAt }) {
      const milliseconds = Math.max(1, Math.ceil(expiresAt - now()))
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), timeoutMs)
      })
      try {
        const answer = await Promise.race([
          client.set(prefix + hash, '1', 'PX', milliseconds, 'NX'),
          late,
        ])
        if (answer === 'OK') return 'fresh'
        return answer === null ? 'used' : 'unchecked'
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
