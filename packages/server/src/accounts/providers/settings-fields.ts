import { isLoopback } from '@countersign/protocol'
import { Type } from 'typebox'
import { ProviderFailure } from './provider.ts'

// Fields that the provider types share in the operator's file (docs/identity-providers.md).

export const idField = () =>
  Type.String({
    pattern: '^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$',
    description:
      '1 to 32 characters out of a-z, 0-9 and -; it is part of addresses and never changes',
  })

export const labelField = () =>
  Type.String({
    pattern: '^[^\\u0000-\\u001f\\u007f]{1,64}$',
    description: 'the name that people read, of 1 to 64 characters',
  })

export const validForDaysField = () =>
  Type.Unsafe<number | null>({
    anyOf: [{ type: 'integer', minimum: 1, maximum: 3650 }, { type: 'null' }],
    description:
      'how many days a verification counts, from 1 to 3650, or null: until it is removed',
  })

export const signInField = () =>
  Type.Boolean({ description: 'true, so that owners may sign in with it, or false' })

const DAY_MS = 86_400_000

/**
 * How long a verification counts, in milliseconds.
 * @param days from the file; undefined: 365; null: does not expire
 */
export function validityMs(days: number | null | undefined): number | null {
  return days === null ? null : (days ?? 365) * DAY_MS
}

/**
 * Rejects test environments unless the service runs on loopback, because they prove nothing.
 * @param callbackUrl a URL of the service
 * @param what names the environment in the message
 * @throws ProviderFailure
 */
export function assertLoopback(callbackUrl: string, what: string): void {
  if (isLoopback(new URL(callbackUrl).hostname)) return
  throw new ProviderFailure(`${what} counts only where this service is on loopback.`)
}

/** Invalid provider settings. Lists all mistakes, without values, because a value could be a secret. */
export class ProviderSettingsError extends Error {
  override readonly name = 'ProviderSettingsError'
  /** Each names the entry or the setting. */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
