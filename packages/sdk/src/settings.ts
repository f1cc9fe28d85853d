import { CountersignError } from './errors.ts'
import type { ClientSettings } from './http/service-client.ts'
import type { RegistryOptions } from './options.ts'

/** Validates options and fills in the defaults. @throws CountersignError INVALID_ARGUMENT */
export function clientSettings(service: string | URL, options: RegistryOptions): ClientSettings {
  const { fetch, now = Date.now, keepRaw = false } = options
  return {
    service: serviceUrl(service),
    // Looked up at each call, since it may be replaced later; and called without an object, as browsers require.
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    now,
    keepRaw,
    maxBytes: atLeast(1, options.maxBytes ?? 1024 * 1024, 'maxBytes'),
    cacheEntries: atLeast(0, options.cacheEntries ?? 1000, 'cacheEntries'),
    staleIfErrorMs: atLeast(0, options.staleIfErrorMs ?? 0, 'staleIfErrorMs'),
    retry: {
      timeoutMs: atLeast(1, options.timeoutMs ?? 15_000, 'timeoutMs'),
      attemptTimeoutMs: atLeast(1, options.attemptTimeoutMs ?? 5_000, 'attemptTimeoutMs'),
      retries: atLeast(0, options.retries ?? 2, 'retries'),
      retryBaseMs: atLeast(0, options.retryBaseMs ?? 200, 'retryBaseMs'),
    },
  }
}

function serviceUrl(address: string | URL): URL {
  const text = String(address)
  const url = URL.canParse(text) ? new URL(text) : null
  const bare = url?.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  if (bare && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  // The message does not repeat the address: it could contain a password.
  throw new CountersignError(
    'INVALID_ARGUMENT',
    'The address of the service must be http or https, without path, query or credentials, such as https://id.example.',
  )
}

/** @throws CountersignError INVALID_ARGUMENT */
export function atLeast(least: number, value: number, name: string): number {
  if (value >= least) return value
  throw new CountersignError('INVALID_ARGUMENT', `${name} must be a number of at least ${least}`)
}
