import { setTimeout as sleep } from 'node:timers/promises'
import { type CheckOutcome, CodedError, type OwnerChannel } from '@countersign/protocol'
import { agentByTail } from '../agents/agent-table.ts'
import type { AgentRow, ChannelRow, Tx } from '../database/database.ts'
import { afterCommit } from '../http/errors.ts'
import { recordCheck } from './channel-lifecycle.ts'
import { applyCheckResult, isVerified, RETRY_MS, withJitter } from './channel-state.ts'
import { channelById } from './channel-table.ts'
import { acquireLease, endLease, releaseLease } from './check-table.ts'
import { describeOwnChannel, expectedProofs, getOwnChannel } from './describe-channels.ts'
import { type ChannelDeps, getKind, isCheckedByService } from './kinds/kind.ts'
import { type Observation, observe } from './observe.ts'

/** The time limit of a check. Perspectives that have not answered by then count as unreachable. */
export const CHECK_TIMEOUT_MS = 60_000
/** Longer than any check, so that a lease only times out if its node died. */
export const LEASE_MS = 2 * CHECK_TIMEOUT_MS

/** When a check may start, and what stops it. */
export interface CheckOptions {
  /** Check only if the channel is due by then, in milliseconds since 1970; null: check now. */
  readonly dueBy: number | null
  /** Aborts the check without a result. */
  readonly stopped: AbortSignal
}

/** `taken`: another check holds the lease, or the channel is not due. `dropped`: the result no longer mattered. */
export type CheckEnd = CheckOutcome | 'taken' | 'dropped'

interface LeasedCheck {
  /** The channel's id. */
  readonly id: string
  /** Identifies the lease: random, for this one check. */
  readonly leasedBy: string
}

/**
 * Checks a channel and records the result. A lease makes sure that only one node checks it at a time. A check that was
 * aborted, or whose lease was lost, changes nothing.
 * @param id the channel's id
 * @throws any error that is a bug; the channel is then checked again after RETRY_MS
 */
export async function checkChannel(
  deps: ChannelDeps,
  id: string,
  { dueBy, stopped }: CheckOptions,
): Promise<CheckEnd> {
  const { db } = deps
  const check = { id, leasedBy: Buffer.from(deps.randomBytes(12)).toString('base64url') }
  const now = deps.now()
  const terms = { now, until: now + LEASE_MS, dueBy }
  if (!(await db.write((tx) => acquireLease(tx, id, check.leasedBy, terms)))) return 'taken'
  const release = (notBefore: number) =>
    db.write((tx) => releaseLease(tx, id, check.leasedBy, notBefore))
  try {
    const end = await checkUnderLease(deps, check, stopped)
    if (end !== null) return end
    await release(0)
    return 'dropped'
  } catch (error) {
    // If this fails too, the lease times out.
    await release(deps.now() + RETRY_MS).catch(() => undefined)
    throw error
  }
}

/** Whether a check could change anything: it can find an open token, or find that the proof of a verified channel is gone. */
function isWorthChecking(channel: ChannelRow, now: number): boolean {
  const { proof_token: token, proof_expires_at: expiresAt } = channel
  const open = token !== null && expiresAt !== null && expiresAt > now
  return open || isVerified(channel, now)
}

/** @returns null if the check was aborted */
async function checkUnderLease(
  deps: ChannelDeps,
  check: LeasedCheck,
  stopped: AbortSignal,
): Promise<CheckEnd | null> {
  const { db, site, channelSources } = deps
  const channel = await channelById(db.read, check.id)
  const agent = channel && (await agentByTail(db.read, channel.tail))
  if (channel === undefined || agent === undefined) return 'dropped'
  const kind = getKind(channelSources, channel.kind)
  const now = deps.now()
  if (!isCheckedByService(kind) || !isAlive(agent) || !isWorthChecking(channel, now)) {
    await db.write((tx) => endLease(tx, check.id, check.leasedBy, null))
    return 'dropped'
  }
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(CHECK_TIMEOUT_MS)])
  const expected = expectedProofs(site, agent, channel, now)
  const observation = await observe(kind, channelSources.perspectives, expected, signal)
  if (stopped.aborted) return null
  return db.write((tx) => finishCheck(deps, tx, check, { before: channel, observation }))
}

interface FinishedCheck {
  /** The channel when the check began. */
  readonly before: ChannelRow
  readonly observation: Observation
}

/** Ends the lease, and records the observation if the agent and the token are still those that were checked. */
async function finishCheck(
  { now, channelSources, randomBytes }: ChannelDeps,
  tx: Tx,
  { id, leasedBy }: LeasedCheck,
  { before, observation }: FinishedCheck,
): Promise<CheckEnd> {
  const at = now()
  const channel = await channelById(tx.db, id)
  const agent = channel && (await agentByTail(tx.db, channel.tail))
  if (channel === undefined || agent === undefined) return 'dropped'
  if (!isAlive(agent)) {
    await endLease(tx, id, leasedBy, null)
    return 'dropped'
  }
  const kind = getKind(channelSources, channel.kind)
  // If the owner has requested another token during the check, the token that was found is void.
  const isVoid = observation.token === 'fresh' && channel.proof_token !== before.proof_token
  const result = isVoid ? UNKNOWN_RESULT : observation
  const effect = applyCheckResult(channel, result, kind.freshForMs, at)
  const held = await endLease(tx, id, leasedBy, withJitter(effect.dueAt, at, randomBytes))
  if (!held || isVoid) return 'dropped'
  await recordCheck(tx, { agent, channel, effect, observation, at })
  return observation.outcome
}

const UNKNOWN_RESULT = { outcome: 'unreachable', token: null, method: null } as const

/** Channels of a suspended agent are still checked, because the suspension may be lifted. */
function isAlive({ status }: AgentRow): boolean {
  return status !== 'revoked'
}

/** How often a requested check is tried while another check holds the lease. */
const MAX_ATTEMPTS = 50
const ATTEMPT_INTERVAL_MS = 200

/**
 * Checks a channel at its owner's request. It waits for a check in progress, which may have read the place before the owner
 * changed it.
 * @param reference the agent's DID or tail
 * @param id the channel's id
 * @returns the channel after the check, with the result of each perspective
 * @throws CodedError VALIDATION_ERROR if other checks held the lease all the time, there is nothing to look for, or the
 *   agent itself proves this kind of channel; NOT_FOUND
 */
export async function checkNow(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  const { agent, channel } = await getOwnChannel(deps.db.read, deps, ownerId, reference, id)
  if (agent.status === 'revoked') {
    throw refusal('This agent is revoked: its channels are not checked.')
  }
  if (!isCheckedByService(getKind(deps.channelSources, channel.kind))) {
    throw refusal('This channel is proven by the agent itself.')
  }
  if (!isWorthChecking(channel, deps.now())) {
    throw refusal('This channel has no token. Create one, place it, then check again.')
  }
  if (!(await checkWhenFree(deps, id))) {
    // The channel may have been removed, and its lease with it.
    await getOwnChannel(deps.db.read, deps, ownerId, reference, id)
    throw refusal('A check of this channel is running. Try again in a minute.')
  }
  return afterCommit(() => describeOwnChannel(deps, ownerId, reference, id))
}

/** @returns false if other checks held the lease all the time, or the channel was removed */
async function checkWhenFree(deps: ChannelDeps, id: string): Promise<boolean> {
  const { signal: stopped } = new AbortController()
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await sleep(ATTEMPT_INTERVAL_MS)
    if ((await checkChannel(deps, id, { dueBy: null, stopped })) !== 'taken') return true
    if ((await channelById(deps.db.read, id)) === undefined) return false
  }
  return false
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
