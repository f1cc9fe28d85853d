import { CodedError, type OrganisationDomain, randomBase58 } from '@countersign/protocol'
import { removeVerification } from '../../accounts/identity/record-verification.ts'
import { notifyOfAccess } from '../../accounts/notify-of-access.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import type { MemberSession } from '../../accounts/owners/session.ts'
import { ORGANISATION_DOMAIN, verificationsOfOwner } from '../../accounts/verification-table.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Db, IdentityVerificationRow } from '../../database/database.ts'
import type { OrganisationDomainRow } from '../../database/schema/organisation-rows.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { TOKEN_LENGTH, TOKEN_LIFETIME_MS } from '../channel-state.ts'
import { domainChallenge } from '../kinds/domain.ts'
import { type ChannelSources, InvalidHandleError, type PlacedProof } from '../kinds/kind.ts'
import { parseDomain } from '../kinds/parse-handle.ts'
import { deleteDomain, domainOf, upsertDomain } from './organisation-domain-table.ts'

export interface DomainDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now' | 'randomBytes'> {
  readonly channelSources: ChannelSources
}

/** What a domain publishes to name the organisation that it belongs to. */
export interface OrganisationProof extends PlacedProof {
  /** The organisation's public id: its username may change. */
  readonly organisation: string
}

export const organisationChallenge = domainChallenge<OrganisationProof>({
  field: 'organisation',
  idOf: ({ organisation }) => organisation,
  holder: 'this organisation',
  noun: 'organisation',
})

const NO_DOMAIN: OrganisationDomain = {
  domain: null,
  line: null,
  record: null,
  url: null,
  provenAt: null,
  expiresAt: null,
}

/** The domain of an organisation, and what to publish there. */
export async function describeDomain(
  { db, site, now }: DomainDeps,
  orgId: number,
): Promise<OrganisationDomain> {
  const row = await domainOf(db.read, orgId)
  if (row === undefined) return NO_DOMAIN
  const verification = await domainVerification(db.read, row, now())
  const proof = await proofOf({ db: db.read, site }, row, row.token, row.token_expires_at)
  const isUsable =
    isOpenToken(row, now()) || (verification !== null && row.token === row.proven_token)
  return {
    domain: row.domain,
    line: isUsable ? organisationChallenge.line(proof) : null,
    record: organisationChallenge.recordName(proof),
    url: organisationChallenge.fileUrl(proof).href,
    provenAt: verification === null ? null : timestamp(verification.verified_at),
    expiresAt: verification?.expires_at ? timestamp(verification.expires_at) : null,
  }
}

/** Whether the token can prove the domain. Each does so once, so that a verification that was removed does not come back. */
export function isOpenToken(row: OrganisationDomainRow, now: number): boolean {
  return row.token_expires_at > now && row.token !== row.proven_token
}

/** The current verification of an organisation by this domain, or null. One by the domain before does not count. */
export async function domainVerification(
  db: Db,
  { org_id, proven_token }: OrganisationDomainRow,
  now: number,
): Promise<IdentityVerificationRow | null> {
  if (proven_token === null) return null
  const all = await verificationsOfOwner(db, org_id)
  const found = all.find(({ provider }) => provider === ORGANISATION_DOMAIN)
  return found !== undefined && (found.expires_at ?? 0) > now ? found : null
}

/** @param expiresAt milliseconds since 1970 */
export async function proofOf(
  { db, site }: { readonly db: Db } & Pick<DomainDeps, 'site'>,
  { org_id, domain }: OrganisationDomainRow,
  token: string,
  expiresAt: number,
): Promise<OrganisationProof> {
  const organisation = (await ownerById(db, org_id))?.public_id ?? ''
  return { naming: site.naming, handle: domain, token, expiresAt, organisation }
}

/**
 * Sets the domain that an organisation will prove, with a token. Repeated with the same domain, it gives the token that is open,
 * or another one. A domain that was proven before is no longer checked: its verification ends when the new one is proven, or
 * within 14 days.
 * @throws CodedError VALIDATION_ERROR, FORBIDDEN if the organisation is suspended
 */
export async function setDomain(
  deps: DomainDeps,
  session: MemberSession,
  text: string,
): Promise<OrganisationDomain> {
  const domain = parse(text)
  const token = randomBase58(TOKEN_LENGTH, deps.randomBytes)
  const { ownerId } = session
  await deps.db.write(async (tx) => {
    const at = deps.now()
    await assertOwnerNotSuspended(tx.db, ownerId)
    const before = await domainOf(tx.db, ownerId)
    const isSame = before?.domain === domain
    if (isSame && isOpenToken(before, at)) return
    await upsertDomain(tx, {
      org_id: ownerId,
      domain,
      token,
      token_expires_at: at + TOKEN_LIFETIME_MS,
      proven_at: isSame ? before.proven_at : null,
      proven_token: isSame ? before.proven_token : null,
      proven_by: isSame ? before.proven_by : null,
      due_at: isSame ? before.due_at : null,
    })
    if (!isSame) await notifyOfAccess(tx, session, { type: 'owner.domain_set', domain }, at)
  })
  return afterCommit(() => describeDomain(deps, ownerId))
}

function parse(text: string): string {
  try {
    return parseDomain(text)
  } catch (error) {
    if (!(error instanceof InvalidHandleError)) throw error
    throw new CodedError('VALIDATION_ERROR', error.message)
  }
}

/**
 * Removes the domain of an organisation, and its verification by it.
 * @throws CodedError NOT_FOUND, FORBIDDEN if the organisation is suspended
 */
export async function removeDomain({ db, now }: DomainDeps, orgId: number): Promise<void> {
  await db.write(async (tx) => {
    await assertOwnerNotSuspended(tx.db, orgId)
    if (!(await deleteDomain(tx, orgId))) throw noDomain()
    await removeVerification(tx, orgId, ORGANISATION_DOMAIN, now())
  })
}

export function noDomain(): CodedError {
  return new CodedError('NOT_FOUND', 'This organisation has set no domain.')
}
