import { CodedError, RECOVERY_CODES } from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { ownerByUsername } from '../owner-table.ts'
import { type Browser, startSession } from './session.ts'
import { deleteRecoveryCode } from './sign-in-method-table.ts'
import type { SignedInOwner } from './sign-in-with-passkey.ts'

/** Crockford's base32, which has no letters that are easily confused with digits or each other. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 80 random bits, too many to guess over HTTP. */
const LENGTH = 16

export interface NewRecoveryCodes {
  /** Shown to the owner once. */
  readonly codes: readonly string[]
  /** SHA-256 of each, for the database. */
  readonly hashes: readonly Uint8Array[]
}

/** Ten codes, such as `7KQ2-M9XD-04TB-WE5H`. */
export function newRecoveryCodes(randomBytes: (count: number) => Uint8Array): NewRecoveryCodes {
  const codes = Array.from({ length: RECOVERY_CODES }, () => {
    // 256 is a multiple of 32, so all letters are equally likely.
    const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % 32])
    return letters.join('').replaceAll(/.{4}(?=.)/g, '$&-')
  })
  return { codes, hashes: codes.map((code) => hashCode(code)) }
}

/** Hashes a typed code: case and hyphens are ignored, O counts as 0, I and L as 1. */
function hashCode(typed: string): Uint8Array {
  const plain = typed
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
  return hashToken(plain)
}

/**
 * Signs in with a recovery code, which is then deleted.
 * @throws CodedError UNAUTHENTICATED, with the same message whether the owner or the code is unknown
 */
export async function signInWithRecoveryCode(
  deps: Pick<CoreDeps, 'db' | 'now' | 'randomBytes'>,
  request: { readonly username: string; readonly code: string },
  browser: Browser,
): Promise<SignedInOwner> {
  const hash = hashCode(request.code)
  return deps.db.write(async (tx) => {
    const owner = await ownerByUsername(tx.db, request.username)
    if (owner === undefined || !(await deleteRecoveryCode(tx, owner.id, hash))) {
      throw new CodedError('UNAUTHENTICATED', 'This recovery code is wrong or was used.')
    }
    const token = await startSession(deps, tx, { id: owner.id, method: 'recovery-code', browser })
    return { owner, token }
  })
}
