import { CodedError } from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { ownerById } from '../owner-table.ts'
import { type Browser, startSession } from './session.ts'
import { deleteSignInLink, replaceSignInLink } from './sign-in-method-table.ts'
import type { SignedInOwner } from './sign-in-with-passkey.ts'

const SIGN_IN_LINK_LIFETIME_MS = 15 * 60_000

export interface SignInLink {
  /** The token is in the fragment, which browsers do not send and servers do not log. */
  readonly url: string
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number
}

/**
 * Issues a single-use sign-in link, which replaces the owner's previous one. The database stores the SHA-256 of its
 * token.
 */
export async function issueSignInLink(
  deps: Pick<CoreDeps, 'db' | 'now' | 'randomBytes'>,
  baseUrl: string,
  ownerId: number,
): Promise<SignInLink> {
  const token = Buffer.from(deps.randomBytes(32)).toString('base64url')
  const expiresAt = deps.now() + SIGN_IN_LINK_LIFETIME_MS
  const row = { hash: hashToken(token), owner_id: ownerId, expires_at: expiresAt }
  await deps.db.write((tx) => replaceSignInLink(tx, row))
  return { url: `${baseUrl}/dashboard/sign-in#link=${token}`, expiresAt }
}

/**
 * Signs in with a sign-in link, which is then deleted.
 * @param token from the link's fragment
 * @throws CodedError UNAUTHENTICATED if the link is unknown, used or expired
 */
export async function signInWithLink(
  deps: Pick<CoreDeps, 'db' | 'now' | 'randomBytes'>,
  token: string,
  browser: Browser,
): Promise<SignedInOwner> {
  const hash = hashToken(token)
  return deps.db.write(async (tx) => {
    const link = await deleteSignInLink(tx, hash)
    const owner = link && (await ownerById(tx.db, link.owner_id))
    if (owner === undefined || (link?.expires_at ?? 0) <= deps.now()) {
      throw new CodedError(
        'UNAUTHENTICATED',
        'This link was used, has expired, or was replaced by a newer one. Ask the operator for a new one.',
      )
    }
    const session = await startSession(deps, tx, { id: owner.id, method: 'link', browser })
    return { owner, token: session }
  })
}
