import { Departure, type Read } from '../answers/fields.ts'
import type { AnswerOrigin, CallOptions } from '../call-options.ts'
import { CountersignError } from '../errors.ts'
import { AnswerCache, type Kept } from './answer-cache.ts'
import { isTransient, type MayRetry, type Patience, withPatience } from './patience.ts'
import { protocolError } from './refusal.ts'
import { SharedCalls } from './shared-calls.ts'
import { type Answer, askOnce, type Question, type Transport } from './transport.ts'

export interface ClientSettings extends Transport {
  readonly patience: Patience
  readonly cacheEntries: number
  readonly staleIfErrorMs: number
  readonly now: () => number
}

/** How answers of a service come about: cache, one call for many callers, retries, checks. */
export class ServiceClient {
  readonly #settings: ClientSettings
  readonly #cache: AnswerCache
  readonly #shared = new SharedCalls()
  readonly #origins = new WeakMap<object, AnswerOrigin>()

  constructor(settings: ClientSettings) {
    this.#settings = settings
    this.#cache = new AnswerCache(settings.cacheEntries)
  }

  get service(): URL {
    return this.#settings.service
  }

  /**
   * @param read checks an answer; the same question is always read alike
   * @returns frozen: several callers may hold it
   */
  async get<T extends object>(
    question: Omit<Question, 'body' | 'headers'>,
    read: Read<T>,
    { signal, fresh = false, staleIfErrorMs = this.#settings.staleIfErrorMs }: CallOptions = {},
  ): Promise<T> {
    const key = `${question.accept ?? ''} ${question.path}`
    const kept = this.#cache.get(key)
    if (kept !== undefined && !fresh && this.#settings.now() < kept.freshUntil) {
      return kept.value as T
    }
    try {
      return await this.#shared.ask(key, signal, (ended) =>
        this.#fetch(key, question, read, kept, ended),
      )
    } catch (error) {
      return this.#staleOr(error, this.#cache.get(key) ?? kept, staleIfErrorMs) as T
    }
  }

  /** Asks what changes something, or is about this moment alone: neither kept nor shared. */
  async once<T extends object>(
    question: Question,
    read: Read<T>,
    mayRetry: MayRetry,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { body } = await this.#ask(question, mayRetry, signal)
    return this.#checked(body, read)
  }

  originOf(answer: object): AnswerOrigin | null {
    return this.#origins.get(answer) ?? null
  }

  forgetAll(): void {
    this.#cache.clear()
    this.#shared.forgetAll()
  }

  async #fetch<T extends object>(
    key: string,
    question: Question,
    read: Read<T>,
    kept: Kept | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    const etag = kept?.etag
    const headers = etag ? { 'if-none-match': etag } : {}
    try {
      const answer = await this.#ask({ ...question, headers }, isTransient, signal)
      return this.#keep(key, answer, read, etag ? kept : undefined)
    } catch (error) {
      // What the service refuses now, it does not say any more.
      if (!isTransient(error as CountersignError)) this.#cache.forget(key)
      throw error
    }
  }

  #keep<T extends object>(
    key: string,
    { status, headers, body }: Answer,
    read: Read<T>,
    kept: Kept | undefined,
  ): T {
    const now = this.#settings.now()
    if (status === 304) {
      if (kept === undefined) throw protocolError(this.service, 'answers 304 unasked', status)
      this.#cache.confirm(key, kept, headers, now)
      this.#origins.set(kept.value, { confirmedAt: now, stale: false })
      return kept.value as T
    }
    const value = this.#checked(body, read, status)
    this.#cache.put(key, value, headers, now)
    this.#origins.set(value, { confirmedAt: now, stale: false })
    return value
  }

  #staleOr(error: unknown, kept: Kept | undefined, staleIfErrorMs: number): object {
    const bearable = error instanceof CountersignError && isTransient(error)
    if (!bearable || kept === undefined) throw error
    if (this.#settings.now() - kept.confirmedAt > staleIfErrorMs || staleIfErrorMs <= 0) throw error
    const copy = Object.freeze({ ...kept.value })
    this.#origins.set(copy, { confirmedAt: kept.confirmedAt, stale: true })
    return copy
  }

  #ask(question: Question, mayRetry: MayRetry, signal: AbortSignal | undefined): Promise<Answer> {
    return withPatience(this.#settings.patience, mayRetry, signal, (ended) =>
      askOnce(this.#settings, question, ended),
    )
  }

  #checked<T extends object>(body: unknown, read: Read<T>, status = 200): T {
    try {
      return deepFreeze(read(body, 'body'))
    } catch (error) {
      if (!(error instanceof Departure)) throw error
      throw protocolError(this.service, error.message, status)
    }
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) deepFreeze(each)
    Object.freeze(value)
  }
  return value
}
