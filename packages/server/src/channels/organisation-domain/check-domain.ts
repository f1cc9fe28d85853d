import { type ChannelCheck, type CheckedDomain, CodedError } from '@countersign/protocol'
import { verifyOwner } from '../../accounts/identity/record-verification.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { CallbackRefusal } from '../../accounts/owners/callback-failure.ts'
import { ORGANISATION_DOMAIN } from '../../accounts/verification-table.ts'
import { startOfDay, timestamp } from '../../base/timestamp.ts'
import type { Tx } from '../../database/database.ts'
import type { OrganisationDomainRow } from '../../database/schema/organisation-rows.ts'
import { afterCommit } from '../../http/errors.ts'
import { RETRY_MS, withJitter } from '../channel-state.ts'
import { CHECK_TIMEOUT_MS, LEASE_MS } from '../check-channel.ts'
import { type ExpectedProofs, type Observation, observe } from '../observe.ts'
import {
  type DomainDeps,
  describeDomain,
  domainVerification,
  isOpenToken,
  noDomain,
  type OrganisationProof,
  organisationChallenge,
  proofOf,
} from './organisation-domain.ts'
import { domainOf, endDomainLease, leaseDomain } from './organisation-domain-table.ts'

const DAY_MS = 86_400_000
/** How long a proof counts. */
const VALID_FOR_MS = 14 * DAY_MS
/** A check that finds the proof renews the verification if it expires sooner than this. */
const RENEW_BELOW_MS = 7 * DAY_MS
const RECHECK_MS = DAY_MS

/** When a check may start, and what stops it. */
interface CheckOptions {
  /** Check only if the domain is due by then, in milliseconds since 1970; null: check now. */
  readonly dueBy: number | null
  /** Aborts the check without a result. */
  readonly stopped: AbortSignal
}

/** `taken`: another check holds the lease, or the domain is not due. `dropped`: there was nothing to look for, or no result. */
type DomainCheckEnd = Observation | 'taken' | 'dropped'

/**
 * Checks the domain of an organisation, and verifies the organisation if the domain names it. A lease makes sure that only one
 * node checks it at a time. A check that was aborted, or whose lease was lost, changes nothing.
 * @throws CodedError CONFLICT if another organisation has proven the domain; any error that is a bug
 */
export async function checkDomain(
  deps: DomainDeps,
  orgId: number,
  { dueBy, stopped }: CheckOptions,
): Promise<DomainCheckEnd> {
  const { db, now } = deps
  const leasedBy = Buffer.from(deps.randomBytes(12)).toString('base64url')
  const lease = { leasedBy, now: now(), until: now() + LEASE_MS, dueBy }
  const row = await db.write((tx) => leaseDomain(tx, orgId, lease))
  if (row === undefined) return 'taken'
  try {
    return await checkUnderLease(deps, row, stopped)
  } catch (error) {
    const retry = row.due_at === null ? null : now() + RETRY_MS
    await db.write((tx) => endDomainLease(tx, orgId, leasedBy, { due_at: retry }))
    throw error
  }
}

async function checkUnderLease(
  deps: DomainDeps,
  row: OrganisationDomainRow,
  stopped: AbortSignal,
): Promise<DomainCheckEnd> {
  const { db, channelSources } = deps
  const expected = await expectedProofs(deps, row)
  if (expected.fresh === null && expected.known === null) {
    await db.write((tx) => endCheck(tx, row, { due_at: null }))
    return 'dropped'
  }
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(CHECK_TIMEOUT_MS)])
  const { perspectives } = channelSources
  const observation = await observe(organisationChallenge, perspectives, expected, signal)
  if (stopped.aborted) {
    await db.write((tx) => endCheck(tx, row, {}))
    return 'dropped'
  }
  return (await record(deps, row, observation)) ? observation : 'dropped'
}

/** What the check of a domain accepts: an open token, and the one that has proven the domain as long as that counts. */
async function expectedProofs(
  { db, site, now }: DomainDeps,
  row: OrganisationDomainRow,
): Promise<ExpectedProofs<OrganisationProof>> {
  const at = now()
  const verification = await domainVerification(db.read, row, at)
  const { token_expires_at, proven_token, proven_by } = row
  const proof = (text: string) => proofOf({ db: db.read, site }, row, text, token_expires_at)
  return {
    fresh: isOpenToken(row, at) ? await proof(row.token) : null,
    known:
      verification === null || proven_token === null || proven_by === null
        ? null
        : { proof: await proof(proven_token), method: proven_by },
    now: at,
  }
}

/** Records what a check has found. @returns false, without a change, if that no longer matters */
async function record(
  deps: DomainDeps,
  row: OrganisationDomainRow,
  { outcome, token, method }: Observation,
): Promise<boolean> {
  const { db, randomBytes } = deps
  const at = deps.now()
  const verification = await domainVerification(db.read, row, at)
  const nextDay = withJitter(at + RECHECK_MS, at, randomBytes)
  if (outcome !== 'proven') {
    const retry = outcome === 'unreachable' ? at + RETRY_MS : nextDay
    const due_at = verification === null ? null : retry
    return db.write((tx) => endCheck(tx, row, { due_at }))
  }
  const left = (verification?.expires_at ?? at) - at
  if (token === 'known' && left >= RENEW_BELOW_MS) {
    return db.write((tx) => endCheck(tx, row, { due_at: nextDay }))
  }
  const proven = { proven_at: at, proven_token: row.token, proven_by: method, due_at: nextDay }
  const values = token === 'fresh' ? proven : { due_at: nextDay }
  return verify(deps, row, async (tx) => {
    // A proof that was found before ends with its verification, which may have been removed meanwhile.
    const counts = token === 'fresh' || (await domainVerification(tx.db, row, at)) !== null
    return (await endCheck(tx, row, counts ? values : { due_at: null })) && counts
  })
}

/** @param end runs first in the transaction; if it returns false, nothing is verified */
async function verify(
  deps: DomainDeps,
  { org_id, domain }: OrganisationDomainRow,
  end: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  const at = deps.now()
  const verification = {
    provider: ORGANISATION_DOMAIN,
    issuer: 'dns',
    subject: domain,
    assurance: 'low',
    verifiedAt: at,
    expiresAt: startOfDay(at + VALID_FOR_MS),
    publishedName: domain,
  } as const
  try {
    return await verifyOwner(deps, org_id, verification, end)
  } catch (error) {
    if (!(error instanceof CallbackRefusal)) throw error
    throw new CodedError(
      'CONFLICT',
      `Another organisation has proven ${domain}. It must remove the domain, or its proof must expire, before you can prove it.`,
    )
  }
}

function endCheck(
  tx: Tx,
  { org_id, leased_by }: OrganisationDomainRow,
  values: Parameters<typeof endDomainLease>[3],
): Promise<boolean> {
  return endDomainLease(tx, org_id, leased_by ?? '', values)
}

/**
 * Checks a domain at the request of an admin.
 * @returns the domain after the check, with the result of each perspective
 * @throws CodedError NOT_FOUND if the organisation has set none, VALIDATION_ERROR if its token has expired, CONFLICT if a check is
 *   running or another organisation has proven the domain, FORBIDDEN if the organisation is suspended
 */
export async function checkDomainNow(deps: DomainDeps, orgId: number): Promise<CheckedDomain> {
  const { read } = deps.db
  await assertOwnerNotSuspended(read, orgId)
  if ((await domainOf(read, orgId)) === undefined) throw noDomain()
  const { signal: stopped } = new AbortController()
  const end = await checkDomain(deps, orgId, { dueBy: null, stopped })
  if (end === 'taken') {
    throw new CodedError('CONFLICT', 'A check of this domain is running. Try again in a minute.')
  }
  if (end === 'dropped') {
    throw new CodedError(
      'VALIDATION_ERROR',
      'The token of this domain has expired, or was replaced during the check. Set the domain again for a new one.',
    )
  }
  return afterCommit(async () => ({
    ...(await describeDomain(deps, orgId)),
    check: describeCheck(end, deps.now()),
  }))
}

function describeCheck({ outcome, perspectives }: Observation, at: number): ChannelCheck {
  return { at: timestamp(at), outcome, perspectives: [...perspectives] }
}
