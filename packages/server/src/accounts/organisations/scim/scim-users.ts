import {
  CodedError,
  MAX_SCIM_PAGE,
  MAX_SCIM_USERS,
  randomBase58,
  SCIM_URNS,
  type ScimUser,
  type ScimUsersQuery,
} from '@countersign/protocol'
import { timestamp } from '../../../base/timestamp.ts'
import type { Tx } from '../../../database/database.ts'
import type { ScimUserRow } from '../../../database/schema/organisation-rows.ts'
import { SCIM_BASE, ScimError } from '../../../http/scim-errors.ts'
import { insertAction } from '../action-table.ts'
import { endMembership } from '../end-membership.ts'
import { liveMembershipIn } from '../membership-table.ts'
import { isText, type ScimAttributes } from './scim-attributes.ts'
import { foldUserName, readScimFilter } from './scim-filter.ts'
import { assertScimToken, type ScimCaller, type ScimDeps } from './scim-tokens.ts'
import {
  countScimUsers,
  deleteScimUser,
  insertScimUser,
  type ScimUserChange,
  scimUserById,
  scimUsersOf,
  updateScimUser,
} from './scim-user-table.ts'

const ID_LENGTH = 12

/** A change that an identity provider asks for. */
export interface ScimRequest {
  readonly caller: ScimCaller
  /** The contract's request id. */
  readonly id: string
  /** The `operationId` of its route. */
  readonly operation: string
}

/** A page of the users of an organisation (RFC 7644 section 3.4.2). @throws ScimError if the filter is not supported */
export async function listScimUsers(
  { db, site }: ScimDeps,
  { orgId }: ScimCaller,
  { filter, startIndex = '1', count = String(MAX_SCIM_PAGE) }: ScimUsersQuery,
) {
  const match = filter === undefined ? null : readScimFilter(filter)
  const first = Math.max(1, Number(startIndex))
  const limit = Math.min(MAX_SCIM_PAGE, Math.max(0, Number(count)))
  const isPossible = match === null || isText(match.value)
  const totalResults = isPossible ? await countScimUsers(db.read, orgId, match) : 0
  const rows = isPossible ? await scimUsersOf(db.read, orgId, match, first - 1, limit) : []
  return {
    schemas: [SCIM_URNS.list],
    totalResults,
    startIndex: first,
    itemsPerPage: rows.length,
    Resources: rows.map((row) => describe(site, row)),
  }
}

/** @throws CodedError NOT_FOUND */
export async function readUser(
  { db, site }: ScimDeps,
  { orgId }: ScimCaller,
  id: string,
): Promise<ScimUser> {
  return describe(site, found(isText(id) ? await scimUserById(db.read, orgId, id) : undefined))
}

/**
 * Adds a user to the directory of an organisation. It becomes no member and gets no role by that.
 * @throws CodedError VALIDATION_ERROR, UNAUTHENTICATED; CONFLICT if the name or external id is taken, or at 5,000 users
 */
export async function createScimUser(
  { db, site, now, randomBytes }: ScimDeps,
  { caller }: ScimRequest,
  attributes: ScimAttributes,
): Promise<ScimUser> {
  const { userName, externalId = null, displayName = null, active = true } = attributes
  if (userName === undefined) throw nameMissing()
  const id = `su_${randomBase58(ID_LENGTH, randomBytes)}`
  const row = await db.write(async (tx) => {
    const at = now()
    await assertScimToken(tx.db, caller.hash, at)
    if ((await countScimUsers(tx.db, caller.orgId, null)) >= MAX_SCIM_USERS) {
      throw new CodedError('CONFLICT', `The directory has ${MAX_SCIM_USERS} users already.`)
    }
    const inserted: ScimUserRow = {
      id,
      org_id: caller.orgId,
      external_id: externalId,
      user_name: userName,
      user_name_folded: foldUserName(userName),
      display_name: displayName,
      active: active ? 1 : 0,
      person_id: null,
      created_at: at,
      updated_at: at,
    }
    if (!(await insertScimUser(tx, inserted))) throw taken()
    return inserted
  })
  return describe(site, row)
}

/** Replaces a user (PUT). Whether it is active stays as it is, if that is left out. @throws CodedError as `changeScimUser` */
export async function replaceScimUser(
  deps: ScimDeps,
  request: ScimRequest,
  id: string,
  attributes: ScimAttributes,
): Promise<ScimUser> {
  if (attributes.userName === undefined) throw nameMissing()
  return changeScimUser(deps, request, id, { externalId: null, displayName: null, ...attributes })
}

/**
 * Changes a user. If it is set to inactive, the membership of the linked person ends in the same transaction, whatever its role
 * or source. Setting it to active gives nothing back.
 * @throws CodedError NOT_FOUND, UNAUTHENTICATED; CONFLICT if the name or external id is taken, or the organisation would be left
 *   without an admin
 */
export async function changeScimUser(
  { db, site, now }: ScimDeps,
  request: ScimRequest,
  id: string,
  attributes: ScimAttributes,
): Promise<ScimUser> {
  const { caller } = request
  const row = await db.write(async (tx) => {
    const at = now()
    await assertScimToken(tx.db, caller.hash, at)
    const before = found(isText(id) ? await scimUserById(tx.db, caller.orgId, id) : undefined)
    const change = { ...columnsOf(attributes), updated_at: at }
    if (!(await updateScimUser(tx, id, change))) throw taken()
    if (attributes.active === false) await endLinkedMembership(tx, request, before, at)
    return { ...before, ...change }
  })
  return describe(site, row)
}

/** Deletes a user and ends the membership of the linked person. @throws CodedError as `changeScimUser` */
export async function removeScimUser(
  { db, now }: ScimDeps,
  request: ScimRequest,
  id: string,
): Promise<void> {
  const { caller } = request
  await db.write(async (tx) => {
    const at = now()
    await assertScimToken(tx.db, caller.hash, at)
    const row = found(isText(id) ? await deleteScimUser(tx, caller.orgId, id) : undefined)
    await endLinkedMembership(tx, request, row, at)
  })
}

/** @throws CodedError CONFLICT if the organisation would be left without an admin */
async function endLinkedMembership(
  tx: Tx,
  { caller, id, operation }: ScimRequest,
  { org_id, person_id }: ScimUserRow,
  at: number,
): Promise<void> {
  if (person_id === null) return
  const live = await liveMembershipIn(tx.db, org_id, person_id)
  if (live === undefined) return
  await endMembership(tx, live.id, 'scim', at)
  await insertAction(tx, {
    org_id,
    membership: caller.createdBy,
    operation,
    request: id,
    api_key: caller.token,
    at,
  })
}

function columnsOf(attributes: ScimAttributes): ScimUserChange {
  const { userName, externalId, displayName, active } = attributes
  return {
    ...(userName !== undefined && {
      user_name: userName,
      user_name_folded: foldUserName(userName),
    }),
    ...(externalId !== undefined && { external_id: externalId }),
    ...(displayName !== undefined && { display_name: displayName }),
    ...(active !== undefined && { active: active ? 1 : 0 }),
  }
}

function describe({ baseUrl }: ScimDeps['site'], row: ScimUserRow): ScimUser {
  return {
    schemas: [SCIM_URNS.user],
    id: row.id,
    ...(row.external_id !== null && { externalId: row.external_id }),
    userName: row.user_name,
    ...(row.display_name !== null && { displayName: row.display_name }),
    active: row.active === 1,
    meta: {
      resourceType: 'User',
      created: timestamp(row.created_at),
      lastModified: timestamp(row.updated_at),
      location: `${baseUrl}${SCIM_BASE}/Users/${row.id}`,
    },
  }
}

function found(row: ScimUserRow | undefined): ScimUserRow {
  if (row !== undefined) return row
  throw new CodedError('NOT_FOUND', 'The directory has no user with this id.')
}

function taken(): ScimError {
  return new ScimError(
    'CONFLICT',
    'uniqueness',
    'Another user of the directory has this userName or externalId.',
  )
}

function nameMissing(): ScimError {
  return new ScimError('VALIDATION_ERROR', 'invalidValue', 'userName is required.')
}
