import type { Naming } from './naming.ts'

/** `svc-recover-` and 32 lower-case hexadecimal characters. A secret until it is used. */
export type RecoveryToken = string & { readonly __brand: 'RecoveryToken' }

/** 10 minutes, as a claim token. */
export const RECOVERY_TOKEN_LIFETIME_MS = 10 * 60 * 1000

/** A new recovery token with 128 random bits. @param randomBytes a cryptographically secure source of `count` bytes */
export function randomRecoveryToken(
  naming: Naming,
  randomBytes: (count: number) => Uint8Array,
): RecoveryToken {
  const hex = Array.from(randomBytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${naming.recoveryTokenPrefix}${hex}` as RecoveryToken
}

/** Whether text has the form of a recovery token. Only the service knows whether it can be redeemed. */
export function isRecoveryToken(naming: Naming, text: string): text is RecoveryToken {
  return naming.recoveryTokenPattern.test(text)
}
