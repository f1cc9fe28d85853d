import {
  challengeOf,
  encodeBase64Url,
  isSince,
  type NonceMemory,
  retryAfterOf,
} from '@countersign/protocol'
import type { NonceStore } from '@countersign/sdk'
import { withTimeLimit } from './time-limit.ts'

/** The part of a Redis client that the store uses: that of ioredis. */
export interface RedisClient {
  get(key: string): Promise<string | null>
  set(key: string, value: string): Promise<unknown>
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

/** A command that starts the memory and takes longer may have waited for Redis to come back without what it knew. */
const LATE_MS = 2_000

/**
 * A nonce store in Redis, shared by all processes that accept requests for the same audiences. It cannot tell (`unchecked`) if Redis does
 * not answer in time, refuses to store more, or may have been emptied after the request was signed, as by a restart. Redis must not evict
 * keys (`maxmemory-policy noeviction`).
 *
 * A replica that is promoted without the last writes is a hole that the store cannot see: delete the key `<prefix>since` in the
 * promotion script.
 */
export function redisNonceStore(
  client: RedisClient,
  { prefix = 'countersign:nonce:', timeoutMs = 500, now = Date.now }: RedisNonceStoreOptions = {},
): NonceStore {
  /** Since when Redis knows every nonce, and the boot id. It has no expiry, so it is gone only if others may be. */
  const sinceKey = `${prefix}since`
  /** As Redis said last. */
  let memory: NonceMemory | null = null

  const begin = async () => {
    const startedAt = now()
    await client.set(sinceKey, memoryText(startedAt), 'NX')
    memory = readMemory(await client.get(sinceKey))
    // Beginning anew is always safe.
    if (memory !== null && now() - startedAt <= LATE_MS) return
    await client.set(sinceKey, memoryText(now()))
    memory = readMemory(await client.get(sinceKey))
  }
  const beginIfEmpty = async () => {
    memory = readMemory(await client.get(sinceKey))
    if (memory === null) await begin()
  }
  beginIfEmpty().catch(() => undefined)

  return {
    async record({ nonce, hash, createdAt, expiresAt }) {
      const milliseconds = Math.max(1, Math.ceil(expiresAt - now()))
      // In this order, so that what is read is true of the memory that recorded the nonce, or of a later one.
      const commands = Promise.all([
        client.set(prefix + hash, '1', 'PX', milliseconds, 'NX'),
        client.get(sinceKey),
      ])
      const answers = await withTimeLimit(commands, timeoutMs)
      if (answers === 'late') return 'unchecked'
      const [stored, since] = answers
      if (stored === null) return 'used'
      memory = readMemory(since)
      if (memory === null) begin().catch(() => undefined)
      const isKnown = memory !== null && isSince(memory, { nonce, createdAt })
      return stored === 'OK' && isKnown ? 'fresh' : 'unchecked'
    },
    challenge: () => memory && challengeOf(memory, now(), randomId),
    retryAfterSeconds: (createdAt) =>
      memory === null ? 1 : retryAfterOf(memory, createdAt, now()),
  }
}

/** 16 random bytes: 22 characters. */
function randomId(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)))
}

function memoryText(startedAt: number): string {
  return `${Math.floor(startedAt)}.${randomId()}`
}

/** @returns null if there is none, or it is not one of ours */
function readMemory(text: string | null): NonceMemory | null {
  const [, startedAt, bootId] = /^(\d{1,16})\.([A-Za-z0-9_-]{22})$/.exec(text ?? '') ?? []
  return startedAt === undefined || bootId === undefined
    ? null
    : { startedAt: Number(startedAt), bootId }
}
