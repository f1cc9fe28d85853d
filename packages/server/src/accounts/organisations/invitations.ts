import {
  CodedError,
  type CreatedInvitation,
  type CreatedOrganisation,
  type Invitations,
  isEmailAddress,
  MAX_INVITATIONS,
  MAX_MEMBERS,
  type NewInvitation,
  type OwnInvitations,
  type Role,
} from '@countersign/protocol'
import { timestamp } from '../../base/timestamp.ts'
import type { Database, Db, Tx } from '../../database/database.ts'
import { scheduleJob } from '../../database/jobs/job-table.ts'
import type { RateLimiter } from '../../http/limits/rate-limiter.ts'
import { INVITATIONS } from '../../http/limits/rate-limits.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { assertOwnerNotSuspended } from '../owner-suspension.ts'
import { assertStillSignedIn, type MemberSession, type Session } from '../owners/session.ts'
import { hasCurrentVerification, provenDomainOf } from '../verification-table.ts'
import { insertAction } from './action-table.ts'
import { OFFER_INVITATION } from './deliver-invitation.ts'
import {
  deleteInvitation,
  deleteInvitationOf,
  invitationsTo,
  type OfferedInvitation,
  openInvitationsOf,
  replaceInvitation,
} from './invitation-table.ts'
import { assertMayBeAdmin } from './members.ts'
import { countMembers, insertMembership, liveMembershipIn, membersOf } from './membership-table.ts'
import { notifyOfMember } from './notify-of-member.ts'
import { newMembershipId } from './organisations.ts'

const LIFETIME_MS = 7 * 86_400_000

export interface InvitationDeps extends Pick<CoreDeps, 'db' | 'now' | 'randomBytes'> {
  readonly rateLimiter: RateLimiter | null
  /** How e-mail is delivered. Null: not at all. */
  readonly mailDelivery: 'smtp' | 'development' | null
}

/**
 * Invites somebody by an e-mail address or a username. The invitation is no secret: it is offered to the account that has
 * verified the address, or has the username. What depends on whether there is such an account, a job does later, so that
 * neither the answer nor its time says so. An earlier invitation to the same target ends.
 * @throws CodedError VALIDATION_ERROR unless exactly one target is named; IDENTITY_REQUIRED to invite by e-mail as an
 *   organisation without a current verification; FORBIDDEN if the organisation is suspended; CONFLICT if there are 100 open
 *   invitations, or the target is a member; RATE_LIMITED; UNAVAILABLE if the service sends no e-mail
 */
export async function invite(
  deps: InvitationDeps,
  { ownerId, membership }: MemberSession,
  { role, ...wanted }: NewInvitation,
): Promise<CreatedInvitation> {
  const { db, now, randomBytes, rateLimiter, mailDelivery } = deps
  const target = targetOf(wanted)
  if (target.email !== null && mailDelivery === null) {
    throw new CodedError('UNAVAILABLE', 'This service does not send e-mail. Invite by username.')
  }
  await rateLimiter?.assertAllowed(
    INVITATIONS,
    String(ownerId),
    'Your organisation has sent too many invitations.',
  )
  const id = Buffer.from(randomBytes(12)).toString('base64url')
  const expiresAt = await db.write(async (tx) => {
    const at = now()
    await assertMayInvite(tx, ownerId, target, at)
    const invitation = { id, org_id: ownerId, ...target, role, invited_by: membership.id }
    const row = { ...invitation, created_at: at, expires_at: at + LIFETIME_MS }
    await replaceInvitation(tx, row)
    if ((await openInvitationsOf(tx.db, ownerId, at)).length > MAX_INVITATIONS) {
      throw new CodedError(
        'CONFLICT',
        `Your organisation has ${MAX_INVITATIONS} open invitations. Withdraw one first.`,
      )
    }
    const job = { kind: OFFER_INVITATION, run_at: at, subject: id }
    await scheduleJob(tx, { id: `${OFFER_INVITATION}:${id}`, ...job })
    return row.expires_at
  })
  return { id, expiresAt: timestamp(expiresAt) }
}

/** @throws CodedError VALIDATION_ERROR */
function targetOf({ email, username }: Pick<NewInvitation, 'email' | 'username'>) {
  if ((email === undefined) === (username === undefined)) {
    throw new CodedError('VALIDATION_ERROR', 'Name either an e-mail address or a username.')
  }
  if (email !== undefined && !isEmailAddress(email)) {
    throw new CodedError('VALIDATION_ERROR', 'This is not an e-mail address.')
  }
  return { email: email?.toLowerCase() ?? null, username: username ?? null }
}

async function assertMayInvite(
  tx: Tx,
  orgId: number,
  { email, username }: ReturnType<typeof targetOf>,
  at: number,
): Promise<void> {
  await assertOwnerNotSuspended(tx.db, orgId)
  if (email !== null) {
    if (await hasCurrentVerification(tx.db, orgId, at)) return
    throw new CodedError(
      'IDENTITY_REQUIRED',
      'Only verified organisations invite by e-mail. Verify the identity of your organisation first, or invite by username.',
    )
  }
  // An address says nothing here: it would tell which member has it.
  const members = await membersOf(tx.db, orgId)
  if (!members.some((each) => each.username === username)) return
  throw new CodedError('CONFLICT', `${username} is a member already. Change their role instead.`)
}

/** The open invitations of the organisation that a session acts for. */
export async function listInvitations(
  { db, now }: Pick<InvitationDeps, 'db' | 'now'>,
  { ownerId }: MemberSession,
): Promise<Invitations> {
  const rows = await openInvitationsOf(db.read, ownerId, now())
  return {
    invitations: rows.map((row) => ({
      id: row.id,
      email: row.email,
      username: row.username,
      role: row.role,
      invitedBy: { id: row.invited_by, displayName: row.invited_by_name },
      createdAt: timestamp(row.created_at),
      expiresAt: timestamp(row.expires_at),
    })),
  }
}

/** Withdraws an invitation. @throws CodedError NOT_FOUND if it is unknown, or was accepted, declined or withdrawn */
export async function withdrawInvitation(
  { db }: Pick<InvitationDeps, 'db'>,
  { ownerId }: MemberSession,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteInvitationOf(tx, ownerId, id))) throw noSuchInvitation()
  })
}

/** The open invitations to a person. */
export async function listOwnInvitations(
  { db, now }: Pick<InvitationDeps, 'db' | 'now'>,
  { personId }: Session,
): Promise<OwnInvitations> {
  const at = now()
  const rows = await invitationsTo(db.read, personId, at)
  return { invitations: await Promise.all(rows.map((row) => describeOffer(db.read, row, at))) }
}

async function describeOffer(
  db: Db,
  row: OfferedInvitation,
  at: number,
): Promise<OwnInvitations['invitations'][number]> {
  return {
    id: row.id,
    organisation: {
      username: row.organisation_username,
      displayName: row.organisation_name,
      verified: await hasCurrentVerification(db, row.org_id, at),
      domain: await provenDomainOf(db, row.org_id, at),
    },
    role: row.role,
    invitedBy: row.invited_by_name,
    expiresAt: timestamp(row.expires_at),
  }
}

/** How many invitations are open to the person of a session. None if it is limited to an organisation. */
export async function countOwnInvitations(
  { db, now }: { readonly db: Database; readonly now: () => number },
  { personId, limitedTo }: Session,
): Promise<number> {
  return limitedTo === null ? (await invitationsTo(db.read, personId, now())).length : 0
}

/**
 * Accepts an invitation, once.
 * @param role as it was shown to the person
 * @param request the id of the request
 * @throws CodedError NOT_FOUND if no such invitation is open to the person; CONFLICT if it has another role, the person is a
 *   member, the organisation has 500 members, or the person is an admin of 5 organisations; FORBIDDEN if they are suspended
 */
export async function acceptInvitation(
  { db, now, randomBytes }: Pick<InvitationDeps, 'db' | 'now' | 'randomBytes'>,
  session: Session,
  { id, role, request }: { readonly id: string; readonly role: Role; readonly request: string },
): Promise<CreatedOrganisation> {
  const { personId } = session
  const membership = newMembershipId(randomBytes)
  return db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, personId)
    const invitation = await takeInvitation(tx, personId, id, at)
    if (invitation.role !== role) {
      throw new CodedError('CONFLICT', `The invitation is for the role ${invitation.role} now.`)
    }
    const { org_id, organisation_username: username } = invitation
    await assertMayJoin(tx, invitation, personId)
    const row = { id: membership, org_id, person_id: personId, role }
    await insertMembership(tx, {
      ...row,
      role_since: at,
      source: 'manual',
      created_at: at,
      ended_at: null,
      end_reason: null,
    })
    await notifyOfMember(tx, row, { change: 'joined', role }, at)
    const details = { organisation: username, role }
    await recordAccountActivity(tx, { ownerId: personId, type: 'owner.joined', details, at })
    const action = { operation: 'acceptInvitation', request, api_key: null }
    await insertAction(tx, { org_id, membership, ...action, at })
    return { username, displayName: invitation.organisation_name, role }
  })
}

/** @throws CodedError CONFLICT */
async function assertMayJoin(
  tx: Tx,
  { org_id, role, organisation_username }: OfferedInvitation,
  personId: number,
): Promise<void> {
  if ((await liveMembershipIn(tx.db, org_id, personId)) !== undefined) {
    throw new CodedError('CONFLICT', `You are a member of ${organisation_username} already.`)
  }
  if ((await countMembers(tx.db, org_id)) >= MAX_MEMBERS) {
    throw new CodedError('CONFLICT', `This organisation has ${MAX_MEMBERS} members.`)
  }
  if (role === 'admin') await assertMayBeAdmin(tx, personId)
}

/** Declines an invitation. @throws CodedError NOT_FOUND */
export async function declineInvitation(
  { db, now }: Pick<InvitationDeps, 'db' | 'now'>,
  session: Session,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    await takeInvitation(tx, session.personId, id, now())
  })
}

/** Deletes an invitation that is open to a person. @throws CodedError NOT_FOUND */
async function takeInvitation(
  tx: Tx,
  personId: number,
  id: string,
  at: number,
): Promise<OfferedInvitation> {
  const invitation = (await invitationsTo(tx.db, personId, at)).find((each) => each.id === id)
  if (invitation !== undefined && (await deleteInvitation(tx, id))) return invitation
  throw noSuchInvitation()
}

function noSuchInvitation(): CodedError {
  return new CodedError('NOT_FOUND', 'There is no such open invitation.')
}
