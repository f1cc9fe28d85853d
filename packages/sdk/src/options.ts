/** The two names that the operator of a deployment can choose. */
export interface NamingOptions {
  /** The word before `:agent:` in its DIDs. Default: `svc`. */
  readonly shortName?: string | undefined
  /** The identification header. Default: `ServiceID`. */
  readonly idHeader?: string | undefined
}

/** The short name and the identification header of a deployment. */
export interface Names {
  readonly shortName: string
  readonly idHeader: string
}

/** How a Registry sends requests. All times in milliseconds. */
export interface RegistryOptions {
  /**
   * The names that the deployment uses, if they are not the default ones; `Registry.discover` reads them from the
   * service. `'any'`: accept DIDs of every deployment; such a Registry has no `naming` and no Agent can use it.
   */
  readonly naming?: NamingOptions | 'any' | undefined
  /** Limit for a call with all its retries. Default: 15,000. */
  readonly timeoutMs?: number | undefined
  /** Limit for one attempt. Default: 5,000. */
  readonly attemptTimeoutMs?: number | undefined
  /** How many times a call that is safe to repeat is retried. Default: 2. */
  readonly retries?: number | undefined
  /** The wait before the first retry is drawn from 0 to this, and from twice as much before each further one. Default: 200. */
  readonly retryBaseMs?: number | undefined
  /** How many responses the cache holds, as far as their headers allow; 0 turns it off. Default: 1,000. */
  readonly cacheEntries?: number | undefined
  /** How old a cached response may be that is used while the service is unreachable. Default: 0, which is never. */
  readonly staleIfErrorMs?: number | undefined
  /** The largest response that is read, in bytes. Default: 1,048,576. */
  readonly maxBytes?: number | undefined
  /** Keep the JSON of each response as it was sent, for `Registry.rawOf`. It takes memory. Default: false. */
  readonly keepRaw?: boolean | undefined
  /** Used instead of the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The clock of the cache, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts this call. Other callers that wait for the same response are not affected. */
  readonly signal?: AbortSignal | undefined
  /** Ask the service even if the cached response is still fresh. Default: false. */
  readonly fresh?: boolean | undefined
  /**
   * If the service is unreachable, use the last response if it is at most this old, in milliseconds. Default: the value
   * of the Registry, else 0, which is never. With it, an agent that was revoked in the meantime still looks active;
   * `Registry.originOf` tells whether a response is stale.
   */
  readonly staleIfErrorMs?: number | undefined
}

/** When the service last sent or confirmed a response, and whether it has been unreachable since. */
export interface AnswerOrigin {
  /** Milliseconds since 1970. */
  readonly confirmedAt: number
  readonly stale: boolean
}
