import type { NonceStore } from '@countersign/sdk'
import { withTimeLimit } from './time-limit.ts'

/** The part of a Redis client that the store uses: that of ioredis. */
export interface RedisClient {
  get(key: string): Promise<string | null>
  set(key: string, value: string, nx: 'NX'): Promise<unknown>
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
 * A nonce store in Redis, shared by all processes that accept requests for the same audiences. It cannot tell (`unchecked`) if Redis does
 * not answer in time, refuses to store more, or was empty after the request was signed, as after a restart. Redis must not evict keys
 * (`maxmemory-policy noeviction`).
 */
export function redisNonceStore(
  client: RedisClient,
  { prefix = 'countersign:nonce:', timeoutMs = 500, now = Date.now }: RedisNonceStoreOptions = {},
): NonceStore {
  /** Holds since when Redis knows every nonce. It has no expiry, so it is gone only if others may be. */
  const sinceKey = `${prefix}since`
  const begin = () => client.set(sinceKey, String(now()), 'NX')
  begin().catch(() => undefined)
  return {
    async record({ hash, createdAt, expiresAt }) {
      const milliseconds = Math.max(1, Math.ceil(expiresAt - now()))
      const commands = Promise.all([
        client.get(sinceKey),
        client.set(prefix + hash, '1', 'PX', milliseconds, 'NX'),
      ])
      const answers = await withTimeLimit(commands, timeoutMs)
      if (answers === 'late') return 'unchecked'
      const [since, stored] = answers
      if (stored === null) return 'used'
      if (since === null) begin().catch(() => undefined)
      const isKnown = since !== null && createdAt >= Number(since)
      return stored === 'OK' && isKnown ? 'fresh' : 'unchecked'
    },
  }
}
