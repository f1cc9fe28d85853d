import type { NamingOptions } from './names.ts'

/** How a Registry asks. All times in milliseconds. */
export interface RegistryOptions {
  /** What the deployment calls things, where that is not the usual; `Registry.discover` reads it from the service. */
  readonly naming?: NamingOptions | undefined
  /** For a call as a whole, retries among them. Default: 15,000. */
  readonly timeoutMs?: number | undefined
  /** For one attempt. Default: 5,000. */
  readonly attemptTimeoutMs?: number | undefined
  /** How often at most a call is tried again where that is safe. Default: 2. */
  readonly retries?: number | undefined
  /** The wait before the first retry is drawn from 0 to this, twice that for the next. Default: 200. */
  readonly retryBaseMs?: number | undefined
  /** How many answers are kept as their headers allow; 0 keeps none. Default: 1,000. */
  readonly cacheEntries?: number | undefined
  /** How old an answer may be that is taken where the service is out of reach. Default: 0, which is none. */
  readonly staleIfErrorMs?: number | undefined
  /** How long an answer may be, in bytes. Default: 1,048,576. */
  readonly maxBytes?: number | undefined
  /** In the place of the platform's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The clock of the cache, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}
