import type { Account } from '@countersign/protocol'

/** @returns how many ways into the account do not wear out: recovery codes do */
export function waysIn({ passkeys, signInProviders }: Account): number {
  return passkeys.length + signInProviders.filter(({ linkedAt }) => linkedAt !== null).length
}
