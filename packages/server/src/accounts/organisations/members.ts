import {
  CodedError,
  type EndedAccess,
  includesRole,
  MAX_ORGANISATIONS,
  type MemberActions,
  type Members,
  type Role,
} from '@countersign/protocol'
import { timestamp } from '../../base/timestamp.ts'
import type { Database, Tx } from '../../database/database.ts'
import { assertOwnerNotSuspended } from '../owner-suspension.ts'
import { assertRole } from '../owners/member-requests.ts'
import type { MemberSession } from '../owners/session.ts'
import { actionsBefore } from './action-table.ts'
import { endMembership } from './end-membership.ts'
import {
  liveMembershipById,
  type MemberRow,
  memberOf,
  membersOf,
  organisationsOf,
} from './membership-table.ts'
import { noSuchMember, setRole } from './set-role.ts'

export interface MembersDeps {
  readonly db: Database
  readonly now: () => number
  /** How many agents each membership of an organisation is responsible for. */
  readonly agentsByResponsible: (
    db: Database['read'],
    orgId: number,
  ) => Promise<ReadonlyMap<string, number>>
}

const ACTIONS_PAGE = 50

/** The members of the organisation that a session acts for. */
export async function listMembers(
  { db, agentsByResponsible }: Pick<MembersDeps, 'db' | 'agentsByResponsible'>,
  { ownerId, personId }: MemberSession,
): Promise<Members> {
  const rows = await membersOf(db.read, ownerId)
  const responsible = await agentsByResponsible(db.read, ownerId)
  return {
    members: rows.map((row) => ({
      id: row.id,
      displayName: row.display_name,
      ...(row.kind === 'person' && { username: row.username }),
      role: row.role,
      source: row.source,
      since: timestamp(row.created_at),
      roleSince: timestamp(row.role_since),
      emergency: row.is_emergency === 1,
      responsibleFor: responsible.get(row.id) ?? 0,
      you: row.person_id === personId,
    })),
  }
}

/**
 * Changes the role of a member. From now on, no identity provider changes it.
 * @param id of the membership
 * @returns what a lower role has ended
 * @throws CodedError NOT_FOUND; FORBIDDEN if the organisation is suspended and the role is higher; CONFLICT if no admin would
 *   be left, if the member has no account of their own, or is an admin of 5 organisations
 */
export function changeRole(
  { db, now }: Pick<MembersDeps, 'db' | 'now'>,
  { ownerId }: MemberSession,
  id: string,
  role: Role,
): Promise<EndedAccess> {
  return db.write(async (tx) => {
    const member = (await memberOf(tx.db, ownerId, id)) ?? throwNoSuchMember()
    assertOwnAccount(member)
    if (!includesRole(member.role, role)) {
      await assertOwnerNotSuspended(tx.db, ownerId)
      if (role === 'admin') await assertMayBeAdmin(tx, member.person_id as number)
    }
    return setRole(tx, member, { role, source: 'manual' }, now())
  })
}

/**
 * Removes a member. Everybody may leave; only an admin removes others.
 * @param id of the membership
 * @returns what ended
 * @throws CodedError NOT_FOUND; FORBIDDEN; CONFLICT if no admin would be left
 */
export function removeMember(
  { db, now }: Pick<MembersDeps, 'db' | 'now'>,
  { ownerId, membership: own }: MemberSession,
  id: string,
): Promise<EndedAccess> {
  return db.write(async (tx) => {
    const member = (await memberOf(tx.db, ownerId, id)) ?? throwNoSuchMember()
    const isSelf = member.id === own.id
    if (!isSelf) {
      assertRole(own.role, 'admin')
      assertRole((await liveMembershipById(tx.db, own.id))?.role ?? 'viewer', 'admin')
    }
    const ended = await endMembership(tx, member.id, isSelf ? 'left' : 'removed', now())
    return ended ?? throwNoSuchMember()
  })
}

/** @throws CodedError CONFLICT if a person is an admin of as many organisations as one may be */
export async function assertMayBeAdmin(tx: Tx, personId: number): Promise<void> {
  const organisations = await organisationsOf(tx.db, personId)
  if (organisations.filter(({ role }) => role === 'admin').length < MAX_ORGANISATIONS) return
  throw new CodedError(
    'CONFLICT',
    `A person can be an admin of at most ${MAX_ORGANISATIONS} organisations.`,
  )
}

/** An identity provider controls managed accounts: they get their role from it, and never make somebody an admin. */
function assertOwnAccount({ kind }: MemberRow): void {
  if (kind === 'person') return
  throw new CodedError(
    'CONFLICT',
    'The identity provider of your organisation sets the role of this member. Change their groups there.',
  )
}

function throwNoSuchMember(): never {
  throw noSuchMember()
}

/**
 * A page of what members have done for their organisation, newest first.
 * @param before `next` of the page before; undefined: the first page. Any other text gives the first page too
 */
export async function listActions(
  { db, now }: Pick<MembersDeps, 'db' | 'now'>,
  { ownerId }: MemberSession,
  before: string | undefined,
): Promise<MemberActions> {
  const position = /^\d{1,15}$/.test(before ?? '') ? Number(before) : Number.MAX_SAFE_INTEGER
  const page = { now: now(), limit: ACTIONS_PAGE + 1 }
  const rows = await actionsBefore(db.read, ownerId, position, page)
  const shown = rows.slice(0, ACTIONS_PAGE)
  return {
    actions: shown.map((row) => ({
      member: { id: row.membership, displayName: row.display_name },
      operation: row.operation,
      at: timestamp(row.at),
      apiKey: row.api_key,
    })),
    next: rows.length > ACTIONS_PAGE ? String(shown.at(-1)?.id) : null,
  }
}
