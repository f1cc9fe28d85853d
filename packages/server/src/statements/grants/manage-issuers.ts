import {
  type AgentGrants,
  CodedError,
  type GrantAssignment,
  type GrantIssuer,
  MAX_GRANT_ISSUERS,
  type NewGrantIssuer,
  type Tail,
} from '@countersign/protocol'
import { recordAccountActivity } from '../../accounts/account-activity-table.ts'
import { type Caller, notifyOfAccess } from '../../accounts/notify-of-access.ts'
import { isLost, type MembershipEffect } from '../../accounts/organisations/end-membership.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import type { AgentEffect } from '../../agents/changes/change-agent.ts'
import { requireOwn } from '../../agents/find-agent.ts'
import { didOfAgent, type Site, tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Db } from '../../database/database.ts'
import type { GrantIssuerRow } from '../../database/schema/grant-rows.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import {
  assignedTails,
  countAssigned,
  deleteIssuer,
  eraseGrantsOfAgents,
  insertIssuer,
  issuerById,
  issuerOfAgent,
  issuersOf,
  usesOf,
  writeAssignment,
} from './grant-table.ts'

export type GrantIssuerDeps = Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'>

/** So that its URL can neither be guessed nor tells anything about the owner. */
const ID_BYTES = 16

/** The grant issuers of an owner, newest first. */
export async function listIssuers(
  { db, site }: Pick<GrantIssuerDeps, 'db' | 'site'>,
  ownerId: number,
): Promise<GrantIssuer[]> {
  const rows = await issuersOf(db.read, ownerId)
  return describeAll(db.read, site, rows)
}

/**
 * Creates a grant issuer, and notifies its owner.
 * @throws CodedError FORBIDDEN if the owner is suspended, CONFLICT if they have 100 already
 */
export async function createIssuer(
  { db, site, now, randomBytes }: GrantIssuerDeps,
  by: Caller,
  { name }: NewGrantIssuer,
): Promise<GrantIssuer> {
  const { ownerId } = by
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('hex')
  const row = await db.write(async (tx) => {
    await assertOwnerNotSuspended(tx.db, ownerId)
    if ((await issuersOf(tx.db, ownerId)).length >= MAX_GRANT_ISSUERS) {
      throw new CodedError(
        'CONFLICT',
        `You have ${MAX_GRANT_ISSUERS} grant issuers. Delete one that you no longer use.`,
      )
    }
    const at = now()
    const created_by = by.membership?.id ?? null
    const inserted = { id, owner_id: ownerId, name, created_by, created_at: at, deleted_at: null }
    await insertIssuer(tx, inserted)
    await notifyOfAccess(tx, by, { type: 'owner.grant_issuer_created', grantIssuer: id, name }, at)
    return inserted
  })
  return describe(site, row, 0)
}

/**
 * Deletes a grant issuer. Its agents get no more grants, and its key set is empty. Its id is never used again.
 * @throws CodedError NOT_FOUND
 */
export async function removeIssuer(
  { db, now }: Pick<GrantIssuerDeps, 'db' | 'now'>,
  ownerId: number,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    const { name } = await requireIssuer(tx.db, ownerId, id)
    await deleteIssuer(tx, id, now())
    await recordAccountActivity(tx, {
      ownerId,
      type: 'owner.grant_issuer_deleted',
      at: now(),
      details: { grantIssuer: id, name },
    })
  })
}

/**
 * The grant issuer of an agent, and the authorization servers for which it got grants.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function describeAgentGrants(
  { db, site }: Pick<GrantIssuerDeps, 'db' | 'site'>,
  ownerId: number,
  reference: string,
): Promise<AgentGrants> {
  const tail = tailOf(site.naming, reference)
  await requireOwn(db.read, ownerId, tail)
  return readAgentGrants(db.read, site, tail)
}

/**
 * Assigns an agent to a grant issuer, or to none.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; CONFLICT if the agent is revoked, FORBIDDEN if the owner is suspended
 */
export async function assignIssuer(
  { db, site, now }: Pick<GrantIssuerDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
  { issuer }: GrantAssignment,
): Promise<AgentGrants> {
  const tail = tailOf(site.naming, reference)
  await db.write(async (tx) => {
    const { status } = await requireOwn(tx.db, ownerId, tail)
    if (issuer !== null) {
      await assertOwnerNotSuspended(tx.db, ownerId)
      await requireIssuer(tx.db, ownerId, issuer)
      if (status === 'revoked') {
        throw new CodedError('CONFLICT', 'This agent is revoked, so it can get no grants.')
      }
    }
    const before = await issuerOfAgent(tx.db, tail)
    if ((before?.id ?? null) === issuer) return
    await writeAssignment(tx, tail, issuer, now())
    await recordAccountActivity(tx, {
      ownerId,
      at: now(),
      type: issuer === null ? 'owner.grant_issuer_unassigned' : 'owner.grant_issuer_assigned',
      details: { agent: didOfAgent(site, tail), grantIssuer: issuer ?? (before?.id as string) },
    })
  })
  return afterCommit(() => readAgentGrants(db.read, site, tail))
}

async function readAgentGrants(db: Db, site: Site, tail: Tail): Promise<AgentGrants> {
  const row = await issuerOfAgent(db, tail)
  const [issuer = null] = await describeAll(db, site, row === undefined ? [] : [row])
  const uses = await usesOf(db, tail)
  return {
    issuer,
    authorizationServers: uses.map(({ audience, first_at, last_at, grants }) => ({
      audience,
      grants,
      firstAt: timestamp(first_at),
      lastAt: timestamp(last_at),
    })),
  }
}

/** A grant issuer speaks for its owner, so that another owner's agents get nothing from it. */
export const grantsOfMovedAgent: AgentEffect = {
  on: ['agent.owner_changed'],
  makes: [],
  run: (tx, { after }) => eraseGrantsOfAgents(tx, [after.tail]),
}

/** The grant issuers of an owner and their agents, for the export of the account. */
export async function exportIssuers(db: Db, site: Site, ownerId: number) {
  const issuers = []
  for (const row of await issuersOf(db, ownerId)) {
    const tails = await assignedTails(db, row.id)
    const assigned = tails.map((tail) => didOfAgent(site, tail as Tail))
    issuers.push({ ...describe(site, row, tails.length), assigned })
  }
  return issuers
}

/** Whether a grant issuer of anyone was deleted. @throws CodedError NOT_FOUND if there never was one */
export async function isIssuerDeleted(db: Db, id: string): Promise<boolean> {
  // The form is checked first: PostgreSQL fails on U+0000.
  const row = /^[0-9a-f]{32}$/.test(id) ? await issuerById(db, id) : undefined
  if (row === undefined) throw new CodedError('NOT_FOUND', 'There is no such grant issuer.')
  return row.deleted_at !== null
}

/** @throws CodedError NOT_FOUND, also for an issuer of somebody else */
async function requireIssuer(db: Db, ownerId: number, id: string): Promise<GrantIssuerRow> {
  const row = await issuerById(db, id)
  if (row !== undefined && row.owner_id === ownerId && row.deleted_at === null) return row
  throw new CodedError('NOT_FOUND', 'You have no such grant issuer.')
}

async function describeAll(
  db: Db,
  site: Site,
  rows: readonly GrantIssuerRow[],
): Promise<GrantIssuer[]> {
  const counts = await countAssigned(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => describe(site, row, counts.get(row.id) ?? 0))
}

function describe(
  site: Site,
  { id, name, created_at }: GrantIssuerRow,
  agents: number,
): GrantIssuer {
  return { id, issuer: grantIssuerUrl(site, id), name, createdAt: timestamp(created_at), agents }
}

/** Where the grant issuers of all owners are. */
export const ISSUERS_PATH = '/oauth/issuers'

/** The URL of a grant issuer: the claim `iss` of its grants. */
export function grantIssuerUrl({ baseUrl }: Site, id: string): string {
  return `${baseUrl}${ISSUERS_PATH}/${id}`
}

/** The issuers that a member created go on without them, and are listed for review. */
export const issuersOfEndedMember: MembershipEffect = async (tx, lost) => {
  if (!isLost(lost, 'manager')) return {}
  const { id, org_id: ownerId } = lost.membership
  const created = (await issuersOf(tx.db, ownerId)).filter((each) => each.created_by === id)
  return { toReview: { grantIssuers: created.map((each) => each.id) } }
}
