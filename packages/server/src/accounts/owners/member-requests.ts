import { CodedError, includesRole, type Role } from '@countersign/protocol'
import type { CheckedWrites } from '../../database/checked-writes.ts'
import type { Db, Tx } from '../../database/database.ts'
import type { Caller, Membership } from '../notify-of-access.ts'
import { insertAction } from '../organisations/action-table.ts'
import {
  type LiveMembership,
  liveMembership,
  liveMembershipById,
  liveMembershipIn,
} from '../organisations/membership-table.ts'
import { apiKeyOfOwner } from './api-key-table.ts'
import { LEAST_ROLES, roleInSession } from './roles.ts'
import type { Session } from './session.ts'
import { sessionByHash } from './session-table.ts'

/** A request of the owners' API, as far as it decides for whom it acts. */
export interface OwnerRequest {
  /** The contract's request id. */
  readonly id: string
  readonly method: string
  /** The `operationId` of its route. */
  readonly operation: string
  /** The value of the parameter `organisation`, or null. */
  readonly organisation: string | null
}

/** A request that acts for an organisation. */
interface MemberRequest {
  readonly request: OwnerRequest
  readonly caller: Session | Caller
  readonly membership: Membership
}

const UNKNOWN = 'You act for no organisation with this username.'
const SUSPENDED = 'The operator suspended your account, so you can act for no organisation.'

/**
 * The place where a session becomes one that acts for an organisation. Each write of such a request is checked again: the membership,
 * the role, the session or API key may have ended since. It is also recorded as an action of the member.
 */
export class MemberRequests {
  readonly #writes: CheckedWrites
  readonly #now: () => number

  /**
   * @param writes of the requests
   * @param now milliseconds since the Unix epoch
   */
  constructor(writes: CheckedWrites, now: () => number) {
    this.#writes = writes
    this.#now = now
  }

  /**
   * @param session of a person
   * @returns the session to act with: for the organisation that the request names, or the person's own account
   * @throws CodedError NOT_FOUND if the person is no member of such an organisation, FORBIDDEN if their role does not allow the
   *   operation, the operator suspended them, or the session is limited to an organisation and the operation is for persons
   */
  async actFor(db: Db, session: Session, request: OwnerRequest): Promise<Session> {
    const live = await membershipOf(db, session, request)
    if (live === null) return session
    if (live === undefined) throw new CodedError('NOT_FOUND', UNKNOWN)
    const membership = allowed(live, request, session.limitedTo !== null)
    const acting = { ...session, ownerId: live.org_id, membership }
    this.#setActor({ request, caller: acting, membership })
    return acting
  }

  /**
   * Notes that an API key of an organisation acts.
   * @throws CodedError FORBIDDEN if the role of the member who created it does not allow the operation
   */
  async actByKey(db: Db, caller: Caller, request: OwnerRequest): Promise<void> {
    if (caller.membership === null) return
    const live = await liveMembershipById(db, caller.membership.id)
    if (live === undefined) throw keyEnded()
    const membership = allowed(live, request, false)
    this.#setActor({ request, caller, membership })
  }

  #setActor(actor: MemberRequest): void {
    this.#writes.require(async (tx) => {
      await assertStillAllowed(tx, actor)
      await recordAction(tx, actor, this.#now())
    })
  }
}

/** @returns null if the session acts for its own account; undefined if there is no such membership */
async function membershipOf(
  db: Db,
  { personId, limitedTo }: Session,
  { operation, organisation }: OwnerRequest,
): Promise<LiveMembership | null | undefined> {
  if (limitedTo === null) {
    return organisation === null ? null : liveMembership(db, organisation, personId)
  }
  if (operation === 'signOut') return null
  if (LEAST_ROLES[operation] === undefined) {
    throw new CodedError(
      'FORBIDDEN',
      'You signed in through your organisation. This needs a sign-in of your own account.',
    )
  }
  const live =
    organisation === null
      ? await liveMembershipIn(db, limitedTo, personId)
      : await liveMembership(db, organisation, personId)
  return live?.org_id === limitedTo ? live : undefined
}

/** @throws CodedError FORBIDDEN */
function allowed(live: LiveMembership, request: OwnerRequest, isLimited: boolean): Membership {
  if (live.suspended_at !== null) throw new CodedError('FORBIDDEN', SUSPENDED)
  const role = roleInSession(live.role, isLimited)
  const least = LEAST_ROLES[request.operation]
  assertRole(role, least)
  return { id: live.id, role }
}

/** @param least undefined: no role is enough. @throws CodedError FORBIDDEN */
export function assertRole(role: Role, least: Role | undefined): void {
  if (least !== undefined && includesRole(role, least)) return
  throw new CodedError(
    'FORBIDDEN',
    `This needs at least the role ${least}. Your role in this organisation is ${role}.`,
  )
}

function keyEnded(): CodedError {
  return new CodedError('UNAUTHENTICATED', 'This API key is unknown, expired or revoked.')
}

/** @throws CodedError NOT_FOUND, FORBIDDEN or UNAUTHENTICATED, by what is true in this transaction */
async function assertStillAllowed(
  tx: Tx,
  { request, caller, membership }: MemberRequest,
): Promise<void> {
  const live = await liveMembershipById(tx.db, membership.id)
  if (live === undefined) throw new CodedError('NOT_FOUND', UNKNOWN)
  if ('hash' in caller) {
    allowed(live, request, caller.limitedTo !== null)
    if ((await sessionByHash(tx.db, caller.hash)) !== undefined) return
    throw new CodedError('UNAUTHENTICATED', 'You are no longer signed in.')
  }
  allowed(live, request, false)
  const key = await apiKeyOfOwner(tx.db, caller.ownerId, caller.apiKey as string)
  if (key === undefined) throw keyEnded()
}

async function recordAction(
  tx: Tx,
  { request, caller, membership }: MemberRequest,
  at: number,
): Promise<void> {
  if (request.method === 'GET' || request.method === 'HEAD') return
  await insertAction(tx, {
    org_id: caller.ownerId,
    membership: membership.id,
    operation: request.operation,
    request: request.id,
    api_key: caller.apiKey,
    at,
  })
}
