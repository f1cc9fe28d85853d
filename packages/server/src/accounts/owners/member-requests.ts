import { AsyncLocalStorage } from 'node:async_hooks'
import { CodedError, includesRole, type Role } from '@countersign/protocol'
import type { Batch, Database, Db, Tx } from '../../database/database.ts'
import type { Tables } from '../../database/schema/tables.ts'
import type { ConnectionStats, DatabaseState, TransactionEnd } from '../../database/stats.ts'
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
 * The place where a session becomes one that acts for an organisation, and where each write of such a request is checked again:
 * the membership, the role, the session or API key may have ended since.
 */
export class MemberRequests {
  readonly #current = new AsyncLocalStorage<{ actor: MemberRequest | null } | null>()
  readonly #now: () => number

  /** @param now milliseconds since the Unix epoch */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Runs the handling of a request, whose writes are checked once `actFor` or `actByKey` has said who acts. */
  run(handle: () => void): void {
    this.#current.run({ actor: null }, handle)
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
    const store = this.#current.getStore()
    if (store == null) throw new Error('a request of an owner outside of the owners’ scope')
    store.actor = actor
  }

  /** A database whose writes are checked, and recorded as actions of the member, if a member's request asks for them. */
  guard(db: Database): Database {
    return new GuardedDatabase(db, {
      now: this.#now,
      actor: () => this.#current.getStore()?.actor ?? null,
      // The commit runs other writes too, and what listens to commits: none of it belongs to this request.
      outside: (work) => this.#current.run(null, work),
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

interface Context {
  readonly now: () => number
  readonly actor: () => MemberRequest | null
  readonly outside: <T>(work: () => T) => T
}

class GuardedDatabase implements Database {
  readonly #db: Database
  readonly #context: Context

  constructor(db: Database, context: Context) {
    this.#db = db
    this.#context = context
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const actor = this.#context.actor()
    const { outside, now } = this.#context
    if (actor === null) return outside(() => this.#db.write(work))
    return outside(() =>
      this.#db.write(async (tx) => {
        await assertStillAllowed(tx, actor)
        await recordAction(tx, actor, now())
        return work(tx)
      }),
    )
  }

  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    if (this.#context.actor() !== null) throw new Error('a batch cannot be checked for one member')
    return this.#context.outside(() => this.#db.writeBatched(batch, item))
  }

  get read(): Db {
    return this.#db.read
  }

  get pointReads(): Db {
    return this.#db.pointReads
  }

  get eventReader(): Db {
    return this.#db.eventReader
  }

  removeDeleted(tables: readonly (keyof Tables)[]): Promise<boolean> {
    return this.#db.removeDeleted(tables)
  }

  get connections(): ConnectionStats | null {
    return this.#db.connections
  }

  get waitingWrites(): number {
    return this.#db.waitingWrites
  }

  onTransaction(listener: (end: TransactionEnd) => void): void {
    this.#db.onTransaction(listener)
  }

  onCommit(listener: () => Promise<void>): void {
    this.#db.onCommit(listener)
  }

  mayHaveExternalWrites(): boolean {
    return this.#db.mayHaveExternalWrites()
  }

  onExternalWrite(listener: () => void): void {
    this.#db.onExternalWrite(listener)
  }

  check(): Promise<void> {
    return this.#db.check()
  }

  state(): Promise<DatabaseState> {
    return this.#db.state()
  }

  close(): Promise<void> {
    return this.#db.close()
  }
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
