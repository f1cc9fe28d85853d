import {
  CLAIM_TOKEN_LIFETIME_MS,
  type ClaimToken,
  CodedError,
  type Naming,
  randomClaimToken,
} from '@countersign/protocol'
import { isLost, type MembershipEffect } from '../../accounts/organisations/end-membership.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { hasCurrentVerification } from '../../accounts/verification-table.ts'
import { hashToken } from '../../base/hash-token.ts'
import type { Database } from '../../database/database.ts'
import { insertTokens, supersedeTokens } from './claim-table.ts'

export interface IssueTokenDeps {
  readonly db: Database
  readonly naming: Naming
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

export interface IssuedToken {
  /** Returned only here: the database stores its hash. */
  readonly claimToken: ClaimToken
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface IssuedTokens {
  /** Returned only here: the database stores their hashes. */
  readonly claimTokens: readonly ClaimToken[]
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/**
 * Issues a claim token and invalidates what the previous issuance left unused (contract 3.2): that of the same member, if the
 * owner is an organisation.
 * @param issuedBy the membership of who issues it; empty: the owner, a person
 * @throws CodedError IDENTITY_REQUIRED if the owner has no current identity verification, FORBIDDEN if they are suspended
 */
export async function issueToken(
  deps: IssueTokenDeps,
  ownerId: number,
  issuedBy = '',
): Promise<IssuedToken> {
  const { claimTokens, expiresAt } = await issueTokens(deps, ownerId, 1, issuedBy)
  return { claimToken: claimTokens[0] as ClaimToken, expiresAt }
}

/**
 * Issues a batch of claim tokens in one transaction. A batch is one issuance: it invalidates what the previous one left unused.
 * @param count the number of tokens, from 1
 * @throws CodedError as `issueToken` does
 */
export async function issueTokens(
  deps: IssueTokenDeps,
  ownerId: number,
  count: number,
  issuedBy = '',
): Promise<IssuedTokens> {
  const claimTokens = Array.from({ length: count }, () =>
    randomClaimToken(deps.naming, deps.randomBytes),
  )
  const hashes = claimTokens.map(hashToken)
  return deps.db.write(async (tx) => {
    const at = deps.now()
    await assertOwnerNotSuspended(tx.db, ownerId)
    if (!(await hasCurrentVerification(tx.db, ownerId, at))) {
      throw new CodedError('IDENTITY_REQUIRED', 'The owner has no current identity verification.')
    }
    const expiresAt = at + CLAIM_TOKEN_LIFETIME_MS
    await supersedeTokens(tx, ownerId, at, issuedBy)
    const token = { owner_id: ownerId, issued_by: issuedBy, created_at: at, expires_at: expiresAt }
    await insertTokens(tx, hashes, token)
    return { claimTokens, expiresAt }
  })
}

/** The claim tokens that a member has left unused are void once they may no longer create any. */
export const tokensOfEndedMember: MembershipEffect = async (tx, lost, at) => {
  if (!isLost(lost, 'manager')) return {}
  const { id, org_id: ownerId } = lost.membership
  return { tokensEnded: await supersedeTokens(tx, ownerId, at, id) }
}
