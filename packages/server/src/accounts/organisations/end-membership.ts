import type { Tx } from '../../database/database.ts'
import type { MembershipRow } from '../../database/schema/organisation-rows.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { ownerById } from '../owner-table.ts'
import { deleteApiKeysOfMember } from '../owners/api-key-table.ts'
import { deleteLimitedSessions } from '../owners/session-table.ts'
import { endMembershipRow } from './membership-table.ts'

/** Why a membership ended. */
export type MembershipEndReason =
  | 'removed'
  | 'left'
  | 'scim'
  | 'no_group'
  | 'account_deleted'
  | 'operator'

/** What ended with a membership, or with a lower role. */
export interface EndedAccess {
  readonly apiKeysEnded: number
  readonly tokensEnded: number
  readonly recoveriesEnded: number
  readonly transfersEnded: number
  /** The number of agents that now have no responsible person. */
  readonly responsibleFor: number
  /** The ids of what the member created and what goes on, since stopping it would be an outage. */
  readonly toReview: {
    readonly webhooks: readonly string[]
    readonly grantIssuers: readonly string[]
  }
}

/** What other rooms end with a membership. @returns its part of the answer */
export type MembershipEffect = (
  tx: Tx,
  ended: MembershipRow,
  at: number,
) => Promise<Partial<EndedAccess>>

declare module '../../database/database.ts' {
  interface Effects {
    /** Run when a membership has ended. `at` is the time, in milliseconds since 1970. */
    readonly membershipEnded: readonly MembershipEffect[]
  }
}

const NOTHING: EndedAccess = {
  apiKeysEnded: 0,
  tokensEnded: 0,
  recoveriesEnded: 0,
  transfersEnded: 0,
  responsibleFor: 0,
  toReview: { webhooks: [], grantIssuers: [] },
}

/**
 * Ends a membership, and with it everything that lets the person act for the organisation. The only function that does: for
 * removal, leaving, SCIM, single sign-on without a role, deletion of the account, and the operator. It writes no agent.
 * @param at milliseconds since the Unix epoch
 * @returns what ended; null, without a change, if the membership has ended already
 */
export async function endMembership(
  tx: Tx,
  membershipId: string,
  reason: MembershipEndReason,
  at: number,
): Promise<EndedAccess | null> {
  const ended = await endMembershipRow(tx, membershipId, reason, at)
  if (ended === undefined) return null
  const apiKeysEnded = await deleteApiKeysOfMember(tx, ended.id)
  if (ended.person_id !== null) {
    await deleteLimitedSessions(tx, ended.person_id, ended.org_id)
    const organisation = await ownerById(tx.db, ended.org_id)
    const details = { organisation: organisation?.username ?? '', reason }
    const activity = { ownerId: ended.person_id, type: 'owner.left', details, at } as const
    await recordAccountActivity(tx, activity)
  }
  let answer: EndedAccess = { ...NOTHING, apiKeysEnded }
  for (const effect of tx.effects.membershipEnded) {
    answer = mergeEnded(answer, await effect(tx, ended, at))
  }
  return answer
}

function mergeEnded(before: EndedAccess, part: Partial<EndedAccess>): EndedAccess {
  return { ...before, ...part, toReview: { ...before.toReview, ...part.toReview } }
}
