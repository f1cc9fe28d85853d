import type { Account } from '@countersign/protocol'

/** The number of sign-in methods, without recovery codes, which can be used up. */
export function countSignInMethods({ passkeys, signInProviders }: Account): number {
  return passkeys.length + signInProviders.filter(({ linkedAt }) => linkedAt !== null).length
}
