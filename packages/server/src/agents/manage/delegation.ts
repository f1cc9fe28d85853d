import {
  CodedError,
  type DelegationPermission,
  type DelegationsEnded,
  type EndDelegationsRequest,
  type OwnDelegationsEnded,
} from '@countersign/protocol'
import type { Caller } from '../../accounts/notify-of-access.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { assertRecentSignIn, type Session } from '../../accounts/owners/session.ts'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, EventRow, Tx } from '../../database/database.ts'
import type { RequestMetrics } from '../../http/metrics/request-metrics.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { DelegationActor } from '../changes/change.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { RENOUNCED_MESSAGE } from '../changes/holds.ts'
import { requireOwn } from '../find-agent.ts'
import { isCompromised } from '../keys/key-table.ts'
import {
  assertCurrent,
  assertRecent,
  assertSigned,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from '../keys/signed-operation.ts'
import { eventsOfType } from './agent-event-table.ts'

export interface DelegationDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly metrics: Pick<RequestMetrics, 'delegationsEnded'>
}

/**
 * Ends all delegations of an agent at the request of the holder of its key: every chain under a certificate that exists is refused.
 * A retry ends them again, which is safe.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, INVALID_SIGNATURE; CONFLICT if `sequence` is not that of the current key, or the
 *   key has renounced the agent; AGENT_NOT_ACTIVE if it is revoked; FORBIDDEN if the key was reported as compromised; RATE_LIMITED
 */
export async function endDelegations(
  deps: DelegationDeps & Pick<KeyOperationDeps, 'ed25519'>,
  reference: string,
  { sequence, issuedAt, signature }: EndDelegationsRequest,
): Promise<DelegationsEnded> {
  const { db, site, now } = deps
  const tail = tailOf(site.naming, reference)
  const signed = decodeSigned(signature)
  assertRecent(issuedAt, now())
  const { public_key: publicKey } = await requireAgent(db.read, tail)
  const did = didOfAgent(site, tail)
  const target = { service: site.baseUrl, did, sequence, oldKey: publicKey, newKey: null, issuedAt }
  await assertSigned(
    deps,
    { operation: 'end-delegations', ...target },
    { key: publicKey, signature: signed, whose: 'this agent’s current key' },
  )
  const endedAt = await db.write(async (tx) => {
    const agent = await requireAgent(tx.db, tail)
    assertCurrent(agent, { publicKey, sequence })
    if (agent.renounce_final_at !== null) throw new CodedError('CONFLICT', RENOUNCED_MESSAGE)
    assertNotRevoked(agent)
    if (await isCompromised(tx.db, agent.public_key)) {
      throw new CodedError(
        'FORBIDDEN',
        'This key was reported as compromised. The certificates of the agent are invalid already.',
      )
    }
    return end(tx, agent, { by: 'agent', isSilent: false }, now())
  })
  count(deps, endedAt, 'agent')
  return { [site.naming.didField]: did, endedAt: timestampOrNull(endedAt) }
}

/**
 * Ends all delegations of an agent for its owner. A retry ends them again.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; AGENT_NOT_ACTIVE if it is revoked; RATE_LIMITED
 */
export async function endOwnDelegations(
  deps: DelegationDeps,
  { ownerId, apiKey }: Caller,
  reference: string,
): Promise<OwnDelegationsEnded> {
  const tail = tailOf(deps.site.naming, reference)
  const endedAt = await deps.db.write(async (tx) => {
    const agent = await requireOwn(tx.db, ownerId, tail)
    assertNotRevoked(agent)
    return end(tx, agent, { by: 'owner', isSilent: apiKey === null }, deps.now())
  })
  count(deps, endedAt, 'owner')
  return { endedAt: timestampOrNull(endedAt) }
}

/**
 * Sets how many hops a chain of an agent may have, for its owner. A lower depth ends all delegations, and is never refused. The
 * depth that it has already changes nothing.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; to raise it: RECENT_SIGN_IN_REQUIRED in a session, AGENT_NOT_ACTIVE if the agent
 *   is revoked, FORBIDDEN if the owner is suspended, RATE_LIMITED
 */
export async function allowDelegation(
  deps: DelegationDeps,
  caller: Session | Caller,
  reference: string,
  maxDepth: number,
): Promise<DelegationPermission> {
  const { ownerId, apiKey } = caller
  const tail = tailOf(deps.site.naming, reference)
  const { former, changedAt } = await deps.db.write(async (tx) => {
    const agent = await requireOwn(tx.db, ownerId, tail)
    const at = deps.now()
    const { delegation_depth: former } = agent
    if (maxDepth === former) return { former, changedAt: null }
    if (maxDepth > former) await assertMayRaise(tx, agent, caller, at)
    const isSilent = apiKey === null
    await changeAgent(
      tx,
      tail,
      { type: 'agent.delegation_changed', maxDepth, by: 'owner', isSilent },
      at,
    )
    return { former, changedAt: at }
  })
  if (maxDepth < former) count(deps, changedAt, 'owner')
  return { maxDepth, changedAt: timestampOrNull(changedAt) }
}

async function assertMayRaise(
  tx: Tx,
  agent: AgentRow,
  caller: Session | Caller,
  at: number,
): Promise<void> {
  if ('signedInAt' in caller) assertRecentSignIn(caller, at)
  await assertOwnerNotSuspended(tx.db, caller.ownerId)
  assertNotRevoked(agent)
  await assertWithinQuota(tx, agent, 'raised', at)
}

/** @returns `at`; null, without a change, if the agent may not delegate */
async function end(
  tx: Tx,
  agent: AgentRow,
  who: { readonly by: DelegationActor; readonly isSilent: boolean },
  at: number,
): Promise<number | null> {
  const { tail, delegation_depth: maxDepth } = agent
  if (maxDepth === 0) return null
  await assertWithinQuota(tx, agent, `ended by ${who.by}`, at)
  await changeAgent(tx, tail, { type: 'agent.delegation_changed', maxDepth, ...who }, at)
  return at
}

function assertNotRevoked({ status }: AgentRow): void {
  if (status !== 'revoked') return
  throw new CodedError('AGENT_NOT_ACTIVE', 'This agent is revoked: it cannot delegate.')
}

function count({ metrics }: DelegationDeps, endedAt: number | null, by: DelegationActor): void {
  if (endedAt !== null) metrics.delegationsEnded.add(by)
}

type Counted = `ended by ${DelegationActor}` | 'raised'

const QUOTA = 60
const HOUR_MS = 3_600_000
/** More than an agent can have in an hour: 60 of each kind that counts, and lowering what was raised. */
const MOST_EVENTS = 500

/**
 * Counts by the events of the agent, so that a change and what counts it are one.
 * @throws CodedError RATE_LIMITED
 */
async function assertWithinQuota(
  tx: Tx,
  { tail, owner_id: ownerId }: AgentRow,
  kind: Counted,
  at: number,
): Promise<void> {
  const newest = Number.MAX_SAFE_INTEGER
  const of = { tail, ownerId }
  const events = await eventsOfType(tx.db, of, 'agent.delegation_changed', newest, MOST_EVENTS)
  const times = events
    .filter((event, i) => event.at > at - HOUR_MS && kindOf(event, events[i + 1]) === kind)
    .map((event) => event.at)
  const first = times[QUOTA - 1]
  if (first === undefined) return
  const seconds = Math.ceil((first + HOUR_MS - at) / 1000)
  throw new CodedError('RATE_LIMITED', `${MESSAGES[kind]} Try again in ${seconds} s.`, {
    retryAfterSeconds: seconds,
  })
}

const MESSAGES: Readonly<Record<Counted, string>> = {
  'ended by agent':
    'An agent can end its delegations 60 times an hour. Its owner can still set the depth to 0.',
  'ended by owner':
    'Delegations can be ended 60 times an hour. Set the depth to 0 to end them now.',
  raised: 'The depth of delegation can be raised 60 times an hour.',
}

/** What an event counts as; null: a lower depth, which does not count. @param before the event before it */
function kindOf(event: EventRow, before: EventRow | undefined): Counted | null {
  const { maxDepth, ended, by } = payloadOf(event)
  if (!ended) return 'raised'
  return before !== undefined && payloadOf(before).maxDepth === maxDepth ? `ended by ${by}` : null
}

function payloadOf({ payload }: EventRow) {
  return JSON.parse(payload) as { maxDepth: number; ended: boolean; by: DelegationActor }
}
