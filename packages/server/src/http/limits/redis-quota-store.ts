import { Redis } from 'ioredis'
import { emissionInterval, MAX_SKEW_MS, type Rate } from './quota.ts'
import type { SharedQuotaStore, TakeResult } from './quota-store.ts'

/** Namespaces our keys, since other software may use the same Redis. What follows is an HMAC under the deployment's secret. */
const KEY_PREFIX = 'countersign:rate:'

const COMMAND_TIMEOUT_MS = 500
const CONNECT_TIMEOUT_MS = 1000
/** After so long without a byte the connection is closed, which ends the commands whose callers have stopped waiting. */
const SOCKET_TIMEOUT_MS = 2000
const MAX_RECONNECT_DELAY_MS = 2000

/** `takeFromQuota` of rate-count-table.ts as one atomic script. A key expires when its quota is full again. */
const TAKE_SCRIPT = `
local now, cost, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = tonumber(redis.call('GET', KEYS[1]) or '0')
if stored > now + window + ${MAX_SKEW_MS} then stored = now end
local from = math.min(math.max(stored, now), now + window)
if from + cost > now + window + 0.001 then return {string.format('%.4f', from), 0} end
local whole = string.format('%.4f', from + cost)
redis.call('SET', KEYS[1], whole, 'PX', math.ceil(from + cost - now))
return {whole, 1}`

/** Stores quotas in a Redis that all nodes share. A command that takes longer than half a second rejects. */
export class RedisQuotaStore implements SharedQuotaStore {
  readonly #redis: Redis
  readonly #password: string
  /** The last connection error; null while connected. Failed commands do not carry the reason themselves. */
  #connectionError: Error | null = null
  #pending = 0

  /** Connects in the background and keeps reconnecting. @param url may contain a password, which is never logged */
  constructor(url: string) {
    this.#redis = new Redis(url, {
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      // While disconnected, commands fail at once instead of waiting.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(times * 100, MAX_RECONNECT_DELAY_MS),
    })
    this.#password = this.#redis.options.password ?? ''
    this.#redis.on('error', (error) => {
      this.#connectionError = this.#redact(error)
    })
    this.#redis.on('ready', () => {
      this.#connectionError = null
    })
  }

  get pending(): number {
    return this.#pending
  }

  async take(key: Uint8Array, rate: Rate, now: number): Promise<TakeResult> {
    const interval = emissionInterval(rate)
    const result = await this.#run(
      this.#redis.eval(TAKE_SCRIPT, 1, redisKey(key), now, interval, rate.windowMs),
    )
    const [resetAt, taken] = result as [string, number]
    return { resetAt: Number(resetAt), taken: taken === 1 }
  }

  async resetAt(key: Uint8Array): Promise<number> {
    return Number((await this.#run(this.#redis.get(redisKey(key)))) ?? 0)
  }

  close(): void {
    this.#redis.disconnect()
  }

  /** @throws Error whose cause says why, without secrets */
  async #run<T>(command: Promise<T>): Promise<T> {
    this.#pending += 1
    try {
      return await command
    } catch (error) {
      throw new Error('Redis does not count.', {
        cause: this.#connectionError ?? this.#redact(error),
      })
    } finally {
      this.#pending -= 1
    }
  }

  /** Error messages of ioredis and Redis can repeat the command's arguments, among them the password. */
  #redact(error: unknown): Error {
    const { message, code } = error as NodeJS.ErrnoException
    const [text = ''] = (message || (code ?? 'no reason given')).split(', with args')
    return new Error(this.#password === '' ? text : text.replaceAll(this.#password, '…'))
  }
}

function redisKey(key: Uint8Array): string {
  return KEY_PREFIX + Buffer.from(key).toString('base64url')
}
