import type { VerificationEvidence } from '@countersign/protocol'
import type { Db, IdentityVerificationRow } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'

const selectOfOwner = prepared<{ ownerId: number }, IdentityVerificationRow>((db, param) =>
  db
    .selectFrom('identity_verifications')
    .selectAll()
    .where('owner_id', '=', param('ownerId'))
    .orderBy('verified_at'),
)

/** All verifications of an owner, expired ones included, oldest first. */
export function verificationsOfOwner(db: Db, ownerId: number): Promise<IdentityVerificationRow[]> {
  return selectOfOwner(db, { ownerId })
}

/** Whether an owner has a verification that has not expired. @param now milliseconds since the Unix epoch */
export async function hasCurrentVerification(
  db: Db,
  ownerId: number,
  now: number,
): Promise<boolean> {
  const rows = await verificationsOfOwner(db, ownerId)
  return rows.some((each) => each.expires_at === null || each.expires_at > now)
}

/** The provider of the verifications of organisations by a domain, whose published name is the domain. */
export const ORGANISATION_DOMAIN = 'organisation-domain'

/** The domain that an organisation has currently proven, or null. @param now milliseconds since the Unix epoch */
export async function provenDomainOf(db: Db, ownerId: number, now: number): Promise<string | null> {
  const rows = await verificationsOfOwner(db, ownerId)
  const proven = rows.find(
    ({ provider, expires_at }) =>
      provider === ORGANISATION_DOMAIN && (expires_at === null || expires_at > now),
  )
  return proven?.published_name ?? null
}

/** The public columns of a verification, with its owner. */
export type VerificationOfOwner = Pick<
  IdentityVerificationRow,
  'owner_id' | 'provider' | 'assurance' | 'verified_at' | 'expires_at' | 'published_name'
>

export function evidenceOfVerification(row: VerificationOfOwner): VerificationEvidence {
  return {
    provider: row.provider,
    assurance: row.assurance,
    verifiedAt: row.verified_at,
    expiresAt: row.expires_at,
  }
}

const selectBetween = prepared<{ from: number; to: number }, VerificationOfOwner>((db, param) =>
  db
    .selectFrom('identity_verifications')
    .select(['owner_id', 'provider', 'assurance', 'verified_at', 'expires_at', 'published_name'])
    .where('owner_id', '>=', param('from'))
    .where('owner_id', '<=', param('to'))
    .orderBy('verified_at'),
)

/** The verifications of all owners with `from` <= id <= `to`, oldest first. */
export function verificationsBetween(
  db: Db,
  from: number,
  to: number,
): Promise<VerificationOfOwner[]> {
  return selectBetween(db, { from, to })
}
