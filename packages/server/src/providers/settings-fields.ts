import { isLoopback } from '@countersign/protocol'
import { Type } from 'typebox'
import { ProviderFailure } from './provider.ts'

/** Fields that every type of provider has in the host's file: docs/identity-providers.md. */

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

/** @param days out of the file; a verification counts for a year where it says nothing */
export function validityMs(days: number | null | undefined): number | null {
  return days === null ? null : (days ?? 365) * DAY_MS
}

/**
 * Refuses what proves nothing, such as a test environment, wherever others could be shown it as proof.
 * @param callbackUrl stands on the service's own address
 * @throws ProviderFailure
 */
export function assertLoopback(callbackUrl: string, what: string): void {
  if (isLoopback(new URL(callbackUrl).hostname)) return
  throw new ProviderFailure(`${what} counts only where this service is on loopback.`)
}

/** Settings of providers that cannot be used, every mistake at once. The values are not in it: one could be a secret. */
export class ProviderSettingsError extends Error {
  override readonly name = 'ProviderSettingsError'
  /** Each names its place. */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
