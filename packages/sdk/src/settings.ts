import { CountersignError } from './errors.ts'
import type { ClientSettings } from './http/service-client.ts'
import type { RegistryOptions } from './registry-options.ts'

/** @throws CountersignError INVALID_ARGUMENT */
export function settingsOf(service: string | URL, options: RegistryOptions): ClientSettings {
  const { fetch, now = Date.now } = options
  return {
    service: serviceOf(service),
    // The platform's own wants to be called as it is, not as a method of ours; and somebody may replace it later.
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    now,
    maxBytes: atLeast(1, options.maxBytes ?? 1024 * 1024, 'maxBytes'),
    cacheEntries: atLeast(0, options.cacheEntries ?? 1000, 'cacheEntries'),
    staleIfErrorMs: atLeast(0, options.staleIfErrorMs ?? 0, 'staleIfErrorMs'),
    patience: {
      timeoutMs: atLeast(1, options.timeoutMs ?? 15_000, 'timeoutMs'),
      attemptTimeoutMs: atLeast(1, options.attemptTimeoutMs ?? 5_000, 'attemptTimeoutMs'),
      retries: atLeast(0, options.retries ?? 2, 'retries'),
      retryBaseMs: atLeast(0, options.retryBaseMs ?? 200, 'retryBaseMs'),
    },
  }
}

function serviceOf(address: string | URL): URL {
  const text = String(address)
  const url = URL.canParse(text) ? new URL(text) : null
  const bare = url?.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  if (bare && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  // The value is not in the message: it could hold a password.
  throw new CountersignError(
    'INVALID_ARGUMENT',
    'The service is an http or https address without path, query or credentials, such as https://id.example.',
  )
}

function atLeast(least: number, value: number, name: string): number {
  if (value >= least) return value
  throw new CountersignError('INVALID_ARGUMENT', `${name} is a number of at least ${least}`)
}
