import { CodedError, RECOVERY_CODES } from '@countersign/protocol'
import { ownerByUsername } from '../agents/owner-table.ts'
import { hashToken } from '../core/crypto/hash-token.ts'
import type { CoreDeps } from '../core/deps.ts'
import { takeRecoveryCode } from './recovery-code-table.ts'
import { type Browser, startSession } from './session.ts'
import type { SignedInOwner } from './sign-in-passkey.ts'

/** Crockford's base32: no letter that could be read as a digit or another letter. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 80 random bits: no number of guesses over HTTP finds one, so that guessing needs no other brake. */
const LENGTH = 16

export interface NewRecoveryCodes {
  /** For the owner's eyes, once. */
  readonly codes: readonly string[]
  /** SHA-256 of each, for the database. */
  readonly hashes: readonly Uint8Array[]
}

/** Ten codes, such as `7KQ2-M9XD-04TB-WE5H`. */
export function newRecoveryCodes(randomBytes: (count: number) => Uint8Array): NewRecoveryCodes {
  const codes = Array.from({ length: RECOVERY_CODES }, () => {
    // 256 is a multiple of 32: every letter is as likely.
    const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % 32])
    return letters.join('').replaceAll(/.{4}(?=.)/g, '$&-')
  })
  return { codes, hashes: codes.map((code) => hashOfCode(code)) }
}

/** The hash of a code as people type it: in any case, with or without hyphens, O for 0, I or L for 1. */
function hashOfCode(typed: string): Uint8Array {
  const plain = typed
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
  return hashToken(plain)
}

/**
 * Signs in by a recovery code, which is used up.
 * @throws CodedError UNAUTHENTICATED, in the same words whether the owner or the code is unknown
 */
export async function signInByRecoveryCode(
  deps: Pick<CoreDeps, 'db' | 'now' | 'randomBytes'>,
  request: { readonly username: string; readonly code: string },
  browser: Browser,
): Promise<SignedInOwner> {
  const hash = hashOfCode(request.code)
  return deps.db.write(async (tx) => {
    const owner = await ownerByUsername(tx.db, request.username)
    if (owner === undefined || !(await takeRecoveryCode(tx, owner.id, hash))) {
      throw new CodedError(
        'UNAUTHENTICATED',
        'There is no such recovery code, or it has been used.',
      )
    }
    const token = await startSession(deps, tx, { id: owner.id, method: 'recovery-code', browser })
    return { owner, token }
  })
}
