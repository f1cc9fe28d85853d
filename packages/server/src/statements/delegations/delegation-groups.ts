import {
  CodedError,
  type DelegationGroup,
  type DelegationGroupEnded,
  keyThumbprint,
  MAX_DELEGATION_GROUPS,
  type NewDelegationGroup,
  type OwnDelegationGroups,
  type RawRequest,
  type Tail,
} from '@countersign/protocol'
import type { Caller } from '../../accounts/notify-of-access.ts'
import { agentByTail } from '../../agents/agent-table.ts'
import { certifiedStateOf } from '../../agents/changes/certified-state.ts'
import type { DelegationActor } from '../../agents/changes/change.ts'
import { changeAgent } from '../../agents/changes/change-agent.ts'
import {
  countDelegationsSince,
  delegationById,
  deleteDelegation,
  endDelegationEntry,
  insertDelegation,
  liveDelegations,
} from '../../agents/changes/delegation-table.ts'
import { allocateEntry } from '../../agents/changes/status-entry-table.ts'
import { findOrThrow, requireOwn } from '../../agents/find-agent.ts'
import { assertOwnRequest } from '../../agents/verification/own-request.ts'
import type { VerifyDeps } from '../../agents/verification/verify-challenge.ts'
import { tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, JobRow, Tx } from '../../database/database.ts'
import { scheduleJob } from '../../database/jobs/job-table.ts'
import type { LoggedKeys } from '../../log/read-log.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { Issuer } from '../certificates/issue.ts'
import { assertTrue, referenceOf } from '../status-lists/status-entries.ts'

export interface DelegationGroupDeps extends VerifyDeps, Pick<CoreDeps, 'db' | 'randomBytes'> {
  readonly issuer: Pick<Issuer, 'groupCertificate'>
  readonly loggedKeys: LoggedKeys
}

/** The kind of job that deletes the row of a group. */
export const DELETE_DELEGATION = 'delete-delegation'
const KEPT_MS = 24 * 3_600_000

const ID_BYTES = 16
const HOUR_MS = 3_600_000
/** Each takes an entry of a status list for good. */
const MAX_CREATED_PER_HOUR = 200

const TOO_MANY = 'This agent changes its groups of delegations too often.'

/**
 * Creates a group of delegations at the request of the agent: a certificate with an entry of its own, so that it ends without the others.
 * @param reference the DID or tail in the URL
 * @param received the request as it was received, with its body
 * @throws CodedError UNAUTHENTICATED or INVALID_SIGNATURE; FORBIDDEN if another agent or a delegate signed it, the owner has not
 *   allowed delegation; AGENT_NOT_ACTIVE; CONFLICT if there are 100, or the key has changed; RATE_LIMITED;
 *   UNAVAILABLE; StorageFailure
 */
export async function createDelegationGroup(
  deps: DelegationGroupDeps,
  reference: string,
  received: RawRequest,
  { label }: NewDelegationGroup,
): Promise<DelegationGroup> {
  const tail = tailOf(deps.site.naming, reference)
  const keyid = await assertOwnRequest(deps, tail, received, TOO_MANY)
  try {
    return await create(deps, { tail, keyid, label })
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'UNAVAILABLE') throw error
    // The agent has changed on another node. The nonce is used: the agent would have to sign again.
    await deps.readModel.catchUp()
    return create(deps, { tail, keyid, label })
  }
}

interface Asked extends NewDelegationGroup {
  readonly tail: Tail
  /** The thumbprint of the key that signed. */
  readonly keyid: string
}

async function create(
  deps: DelegationGroupDeps,
  { tail, keyid, label }: Asked,
): Promise<DelegationGroup> {
  const { db, now, readModel, issuer, loggedKeys, randomBytes } = deps
  const knownUntil = now() - readModel.staleness()
  const view = await findOrThrow(deps, { kind: 'tail', tail })
  const logged = await loggedKeys.find(view.agent)
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('hex')
  return db.write(async (tx) => {
    const at = now()
    const certified = certifiedStateOf(view, at)
    const { agent } = await assertTrue(tx, tail, certified, at)
    await assertMayCreate(tx, agent, keyid, at)
    const row = await allocateEntry(tx, tail, certified, at, 0)
    const entry = referenceOf(row)
    const signed = issuer.groupCertificate({ view, entry, logged, now: at, knownUntil })
    const { certificate, expiresAt } = signed
    const { list, idx } = row
    const times = { created_at: at, expires_at: expiresAt, ended_at: null, ended_by: null }
    await insertDelegation(tx, { id, tail, list, idx, label, ...times })
    const job = { id: `${DELETE_DELEGATION}:${id}`, kind: DELETE_DELEGATION, subject: id }
    await scheduleJob(tx, { ...job, run_at: expiresAt + KEPT_MS })
    await changeAgent(tx, tail, { type: 'agent.delegation_created', id, expiresAt }, at)
    return { id, certificate, expiresAt: timestamp(expiresAt) }
  })
}

async function assertMayCreate(
  tx: Tx,
  { tail, public_key, delegation_depth }: AgentRow,
  keyid: string,
  at: number,
): Promise<void> {
  if (keyThumbprint(public_key) !== keyid) {
    throw keyChanged()
  }
  if (delegation_depth === 0) {
    throw new CodedError('FORBIDDEN', 'The owner has not allowed this agent to delegate.')
  }
  if ((await liveDelegations(tx.db, tail, at)).length >= MAX_DELEGATION_GROUPS) {
    throw new CodedError(
      'CONFLICT',
      `This agent has ${MAX_DELEGATION_GROUPS} groups of delegations. End one that is no longer used.`,
    )
  }
  if ((await countDelegationsSince(tx.db, tail, at - HOUR_MS)) >= MAX_CREATED_PER_HOUR) {
    const message = `An agent can create ${MAX_CREATED_PER_HOUR} groups of delegations an hour.`
    throw new CodedError('RATE_LIMITED', message, { retryAfterSeconds: HOUR_MS / 1000 })
  }
}

/**
 * Ends a group of delegations at the request of the agent. One that has ended stays as it is.
 * @throws CodedError as `createDelegationGroup`; NOT_FOUND if the agent has no such group
 */
export async function endDelegationGroup(
  deps: DelegationGroupDeps,
  reference: string,
  received: RawRequest,
  id: string,
): Promise<DelegationGroupEnded> {
  const tail = tailOf(deps.site.naming, reference)
  const keyid = await assertOwnRequest(deps, tail, received, TOO_MANY)
  return deps.db.write(async (tx) => {
    const agent = await agentByTail(tx.db, tail)
    if (agent === undefined || keyThumbprint(agent.public_key) !== keyid) throw keyChanged()
    return end(tx, tail, { id, by: 'agent', isSilent: false }, deps.now())
  })
}

/**
 * Ends a group of delegations for the owner of the agent. One that has ended stays as it is.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function endOwnDelegationGroup(
  { db, site, now }: Pick<DelegationGroupDeps, 'db' | 'site' | 'now'>,
  { ownerId, apiKey }: Caller,
  reference: string,
  id: string,
): Promise<DelegationGroupEnded> {
  const tail = tailOf(site.naming, reference)
  return db.write(async (tx) => {
    await requireOwn(tx.db, ownerId, tail)
    return end(tx, tail, { id, by: 'owner', isSilent: apiKey === null }, now())
  })
}

interface End {
  readonly id: string
  readonly by: DelegationActor
  readonly isSilent: boolean
}

async function end(
  tx: Tx,
  tail: Tail,
  { id, by, isSilent }: End,
  at: number,
): Promise<DelegationGroupEnded> {
  const row = await delegationById(tx.db, tail, id)
  if (row === undefined) {
    throw new CodedError('NOT_FOUND', 'This agent has no such group of delegations.')
  }
  if (row.ended_at !== null) return { id, endedAt: timestamp(row.ended_at) }
  await endDelegationEntry(tx, row, by, at)
  const { label } = row
  await changeAgent(tx, tail, { type: 'agent.delegation_ended', id, label, by, isSilent }, at)
  return { id, endedAt: timestamp(at) }
}

function keyChanged(): CodedError {
  return new CodedError('CONFLICT', 'The key of this agent has changed. Sign with the new one.')
}

/**
 * The groups of an agent that have neither ended nor expired, for its owner.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function listDelegationGroups(
  { db, site, now }: Pick<DelegationGroupDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
): Promise<OwnDelegationGroups> {
  const { tail } = await requireOwn(db.read, ownerId, tailOf(site.naming, reference))
  const rows = await liveDelegations(db.read, tail, now())
  return {
    delegations: rows.map(({ id, label, created_at, expires_at }) => ({
      id,
      label,
      createdAt: timestamp(created_at),
      expiresAt: timestamp(expires_at),
    })),
  }
}

/** The job that deletes the row of a group, 24 hours after it has expired. */
export function deleteExpiredGroup(tx: Tx, { subject }: JobRow): Promise<void> {
  return deleteDelegation(tx, subject)
}
