import { CountersignError } from '../errors.ts'
import type { AnswerOrigin, CallOptions } from '../options.ts'
import { type Read, UnexpectedShape } from '../responses/read-schema.ts'
import { RequestCoalescer } from './request-coalescer.ts'
import { type CachedResponse, ResponseCache } from './response-cache.ts'
import { isTransient, type MayRetry, type RetryPolicy, withRetries } from './retry.ts'
import {
  type ServiceRequest,
  type ServiceResponse,
  sendRequest,
  type Transport,
} from './send-request.ts'
import { protocolError } from './service-errors.ts'

/** What `clientSettings` makes of the options of a Registry. */
export interface ClientSettings extends Transport {
  readonly retry: RetryPolicy
  readonly cacheEntries: number
  readonly staleIfErrorMs: number
  readonly keepRaw: boolean
  readonly now: () => number
}

/** Sends requests to one service: with a cache, coalescing, retries, and a check of each response. */
export class ServiceClient {
  readonly #settings: ClientSettings
  readonly #cache: ResponseCache
  readonly #coalescer = new RequestCoalescer()
  readonly #origins = new WeakMap<object, AnswerOrigin>()
  readonly #raw = new WeakMap<object, unknown>()

  constructor(settings: ClientSettings) {
    this.#settings = settings
    this.#cache = new ResponseCache(settings.cacheEntries)
  }

  get service(): URL {
    return this.#settings.service
  }

  /**
   * Reads a resource, from the cache if its headers allow.
   * @param read must be the same for the same request
   * @returns a frozen value: several callers may share it
   */
  async get<T extends object>(
    request: Omit<ServiceRequest, 'body' | 'headers'>,
    read: Read<T>,
    { signal, fresh = false, staleIfErrorMs = this.#settings.staleIfErrorMs }: CallOptions = {},
  ): Promise<T> {
    const key = `${request.accept ?? ''} ${request.path}`
    const cached = this.#cache.get(key)
    if (cached !== undefined && !fresh && this.#settings.now() < cached.freshUntil) {
      return cached.value as T
    }
    try {
      return await this.#coalescer.request(key, signal, (ended) =>
        this.#fetch(key, request, read, cached, ended),
      )
    } catch (error) {
      return this.#staleOrThrow(error, this.#cache.get(key) ?? cached, staleIfErrorMs) as T
    }
  }

  /** Sends a request that changes something or depends on the moment: not cached, not coalesced. */
  async send<T extends object>(
    request: ServiceRequest,
    read: Read<T>,
    mayRetry: MayRetry,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { body } = await this.#request(request, mayRetry, signal)
    return this.#checked(body, read)
  }

  originOf(value: object): AnswerOrigin | null {
    return this.#origins.get(value) ?? null
  }

  rawOf(value: object): unknown {
    return this.#raw.get(value) ?? null
  }

  clearCache(): void {
    this.#cache.clear()
    this.#coalescer.clear()
  }

  async #fetch<T extends object>(
    key: string,
    request: ServiceRequest,
    read: Read<T>,
    cached: CachedResponse | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    const etag = cached?.etag
    const headers = etag ? { 'if-none-match': etag } : {}
    try {
      const response = await this.#request({ ...request, headers }, isTransient, signal)
      return this.#store(key, response, read, etag ? cached : undefined)
    } catch (error) {
      // The service now refuses the request, so the cached response no longer counts.
      if (!isTransient(error as CountersignError)) this.#cache.delete(key)
      throw error
    }
  }

  #store<T extends object>(
    key: string,
    { status, headers, body }: ServiceResponse,
    read: Read<T>,
    cached: CachedResponse | undefined,
  ): T {
    const now = this.#settings.now()
    if (status === 304) {
      if (cached === undefined) throw protocolError(this.service, 'answers 304 unasked', status)
      this.#cache.confirm(key, cached, headers, now)
      this.#origins.set(cached.value, { confirmedAt: now, stale: false })
      return cached.value as T
    }
    const value = this.#checked(body, read, status)
    this.#cache.put(key, value, headers, now)
    this.#origins.set(value, { confirmedAt: now, stale: false })
    return value
  }

  #staleOrThrow(
    error: unknown,
    cached: CachedResponse | undefined,
    staleIfErrorMs: number,
  ): object {
    const isOutage = error instanceof CountersignError && isTransient(error)
    if (!isOutage || cached === undefined || staleIfErrorMs <= 0) throw error
    if (this.#settings.now() - cached.confirmedAt > staleIfErrorMs) throw error
    const copy = Object.freeze({ ...cached.value })
    this.#origins.set(copy, { confirmedAt: cached.confirmedAt, stale: true })
    this.#raw.set(copy, this.#raw.get(cached.value))
    return copy
  }

  #request(
    request: ServiceRequest,
    mayRetry: MayRetry,
    signal: AbortSignal | undefined,
  ): Promise<ServiceResponse> {
    return withRetries(this.service.origin, this.#settings.retry, mayRetry, signal, (ended) =>
      sendRequest(this.#settings, request, ended),
    )
  }

  #checked<T extends object>(body: unknown, read: Read<T>, status = 200): T {
    try {
      const value = deepFreeze(read(body))
      if (this.#settings.keepRaw) this.#raw.set(value, body)
      return value
    } catch (error) {
      if (!(error instanceof UnexpectedShape)) throw error
      throw protocolError(this.service, error.message, status)
    }
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
