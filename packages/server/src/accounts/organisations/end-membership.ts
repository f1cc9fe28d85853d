import { type EndedAccess, includesRole, type Role } from '@countersign/protocol'
import type { OwnerRow, Tx } from '../../database/database.ts'
import type { MembershipRow } from '../../database/schema/organisation-rows.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { ownerById } from '../owner-table.ts'
import { deleteApiKeysOfMember } from '../owners/api-key-table.ts'
import { assertAdminLeft } from '../owners/keep-admin.ts'
import { deleteLimitedSessions } from '../owners/session-table.ts'
import { deleteInvitationsBy } from './invitation-table.ts'
import { endMembershipRow, type MembershipEndReason, organisationsOf } from './membership-table.ts'
import { notifyOfMember } from './notify-of-member.ts'

/** A membership that ended or has a lower role now. */
export interface LostAccess {
  /** As it is now. */
  readonly membership: MembershipRow
  /** The role that is left; null: none, the membership has ended. */
  readonly role: Role | null
}

/** A part of what ended. */
type EndedPart = Partial<Omit<EndedAccess, 'toReview'>> & {
  readonly toReview?: Partial<EndedAccess['toReview']>
}

/** Whether somebody may no longer do what needs a role. They may have been unable before. */
export function isLost({ role }: LostAccess, least: Role): boolean {
  return role === null || !includesRole(role, least)
}

/** What other rooms end with a membership, or with a role (`isLost`). @returns its part of the answer */
export type MembershipEffect = (tx: Tx, lost: LostAccess, at: number) => Promise<EndedPart>

declare module '../../database/database.ts' {
  interface Effects {
    /** Run when a membership has ended, or has a lower role. `at` is the time, in milliseconds since 1970. */
    readonly membershipEnded: readonly MembershipEffect[]
  }
}

/** What ends with nothing. */
export const NOTHING: EndedAccess = {
  apiKeysEnded: 0,
  tokensEnded: 0,
  recoveriesEnded: 0,
  transfersEnded: 0,
  responsibleFor: 0,
  toReview: { webhooks: [], grantIssuers: [], enrolmentRules: [] },
}

/**
 * Ends a membership, and with it everything that lets the person act for the organisation. The only function that does: for
 * removal, leaving, SCIM, single sign-on without a role, deletion of the account, and the operator. It writes no agent.
 * @param at milliseconds since the Unix epoch
 * @returns what ended; null, without a change, if the membership has ended already
 * @throws CodedError CONFLICT if the organisation would have no admin any more (`assertAdminLeft`)
 */
export async function endMembership(
  tx: Tx,
  membershipId: string,
  reason: MembershipEndReason,
  at: number,
): Promise<EndedAccess | null> {
  const ended = await endMembershipRow(tx, membershipId, reason, at)
  if (ended === undefined) return null
  const { org_id: orgId, person_id: personId } = ended
  if (ended.role === 'admin') await assertAdminLeft(tx, orgId)
  const answer = await endAccess(tx, { membership: ended, role: null }, at)
  const { username } = (await ownerById(tx.db, orgId)) as OwnerRow
  const { webhooks, grantIssuers, enrolmentRules } = answer.toReview
  const toReview = {
    webhooks: webhooks.length,
    grantIssuers: grantIssuers.length,
    enrolmentRules: enrolmentRules.length,
  }
  await notifyOfMember(tx, ended, { change: reason, ...toReview }, at)
  if (personId !== null) {
    const details = { organisation: username, reason }
    await recordAccountActivity(tx, { ownerId: personId, type: 'owner.left', details, at })
  }
  return answer
}

/**
 * Ends all memberships of a person, whose account is being deleted.
 * @throws CodedError CONFLICT if they are the last admin of an organisation
 */
export async function endMembershipsOf(
  tx: Tx,
  personId: number,
  reason: MembershipEndReason,
  at: number,
): Promise<void> {
  for (const { membership } of await organisationsOf(tx.db, personId)) {
    await endMembership(tx, membership, reason, at)
  }
}

/**
 * Ends what a member can no longer have: after the end of the membership everything that lets them act, after a lower role what
 * it does not allow. API keys stay with a lower role, because a key may do no more than its maker.
 */
export async function endAccess(tx: Tx, lost: LostAccess, at: number): Promise<EndedAccess> {
  const { id, org_id: orgId, person_id: personId } = lost.membership
  let answer = NOTHING
  if (lost.role === null) {
    answer = { ...NOTHING, apiKeysEnded: await deleteApiKeysOfMember(tx, id) }
    if (personId !== null) await deleteLimitedSessions(tx, personId, orgId)
  }
  if (isLost(lost, 'admin')) await deleteInvitationsBy(tx, id)
  for (const effect of tx.effects.membershipEnded) {
    answer = mergeEnded(answer, await effect(tx, lost, at))
  }
  return answer
}

function mergeEnded(before: EndedAccess, part: EndedPart): EndedAccess {
  return { ...before, ...part, toReview: { ...before.toReview, ...part.toReview } }
}
