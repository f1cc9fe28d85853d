import { Redis } from 'ioredis'

/** All keys of ours, on a Redis that others may use too. What follows is an HMAC under the deployment's own secret. */
const PREFIX = 'countersign:rate:'

/** A request waits no longer for a count than that. */
const COMMAND_MS = 500
const CONNECT_MS = 1000
/** A connection on which nothing has come for so long is given up, and with it the commands that nobody waits for any more. */
const SILENCE_MS = 2000
const LONGEST_PAUSE_MS = 2000

/** The same as `takeOne` of `storage/rate-counts.ts`, in one step of Redis. Rows go by themselves once they say nothing. */
const TAKE = `
local now, cost, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local from = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now), now + window)
if from + cost > now + window + 0.001 then return {string.format('%.4f', from), 0} end
local whole = string.format('%.4f', from + cost)
redis.call('SET', KEYS[1], whole, 'PX', math.ceil(from + cost - now))
return {whole, 1}`

interface Rate {
  readonly quota: number
  readonly windowMs: number
}

/** Quotas that nodes share in a Redis. Where it does not answer in half a second, that is an error. */
export class RedisCounts {
  readonly #redis: Redis
  readonly #password: string
  /** Why there is no connection; null where there is one. Commands say only that there is none. */
  #reason: Error | null = null
  #waiting = 0

  /** Begins to connect, and goes on trying. @param url may hold a password: it is never printed */
  constructor(url: string) {
    this.#redis = new Redis(url, {
      connectTimeout: CONNECT_MS,
      commandTimeout: COMMAND_MS,
      socketTimeout: SILENCE_MS,
      // Whoever asks while it is away is told so, and does not wait.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(times * 100, LONGEST_PAUSE_MS),
    })
    this.#password = this.#redis.options.password ?? ''
    this.#redis.on('error', (error) => {
      this.#reason = this.#printable(error)
    })
    this.#redis.on('ready', () => {
      this.#reason = null
    })
  }

  /** How many commands have no answer yet. */
  get waiting(): number {
    return this.#waiting
  }

  async take(
    key: Uint8Array,
    { quota, windowMs }: Rate,
    now: number,
  ): Promise<{ wholeAt: number; taken: boolean }> {
    const cost = windowMs / quota
    const answer = await this.#ask(this.#redis.eval(TAKE, 1, nameOf(key), now, cost, windowMs))
    const [wholeAt, taken] = answer as [string, number]
    return { wholeAt: Number(wholeAt), taken: taken === 1 }
  }

  async wholeAt(key: Uint8Array): Promise<number> {
    return Number((await this.#ask(this.#redis.get(nameOf(key)))) ?? 0)
  }

  close(): void {
    this.#redis.disconnect()
  }

  /** @throws Error whose cause is why */
  async #ask<T>(command: Promise<T>): Promise<T> {
    this.#waiting += 1
    try {
      return await command
    } catch (error) {
      throw new Error('Redis does not count.', { cause: this.#reason ?? this.#printable(error) })
    } finally {
      this.#waiting -= 1
    }
  }

  /** The client's errors carry the command with its arguments, and a Redis repeats those of one that it does not know. */
  #printable(error: unknown): Error {
    const { message, code } = error as NodeJS.ErrnoException
    const [text = ''] = (message || (code ?? 'no reason given')).split(', with args')
    return new Error(this.#password === '' ? text : text.replaceAll(this.#password, '…'))
  }
}

function nameOf(key: Uint8Array): string {
  return PREFIX + Buffer.from(key).toString('base64url')
}
