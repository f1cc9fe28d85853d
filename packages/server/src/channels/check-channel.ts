import { setTimeout as sleep } from 'node:timers/promises'
import { type CheckOutcome, CodedError, type OwnerChannel } from '@countersign/protocol'
import { agentByTail } from '../agents/agent-table.ts'
import type { AgentRow, ChannelRow, Tx } from '../core/database/database.ts'
import { afterCommit } from '../core/errors.ts'
import { channelById } from './channel-table.ts'
import { endLease, giveLeaseBack, takeLease } from './check-table.ts'
import { type ChannelDeps, requireKind } from './deps.ts'
import { type Look, look } from './observe.ts'
import { isLookedFor, soughtOf } from './proof.ts'
import { recordCheck } from './record-check.ts'
import { afterCheck, isCounting, RETRY_MS, spread } from './schedule.ts'
import { requireOwnChannel, showChannel } from './show-channels.ts'

/** Whoever has not answered by then is out of reach. */
const CHECK_MS = 60_000
/** Longer than any check takes: a node that died gives its lease up after it. */
const LEASE_MS = 2 * CHECK_MS

/** Why a channel is checked. */
export interface Occasion {
  /** Only where it is due by then; null: somebody asks. */
  readonly dueBy: number | null
  /** Gives the check up. */
  readonly stopped: AbortSignal
}

/** `taken`: another is at it, or it is not due; `dropped`: meanwhile it had become pointless. */
export type CheckEnd = CheckOutcome | 'taken' | 'dropped'

interface Check {
  readonly id: string
  /** Whose lease it is: random, for this one check. */
  readonly holder: string
}

/**
 * Checks a channel under a lease, so that of all who would, one does, and records what came of it. A check that was given
 * up, or whose lease was lost, changes nothing.
 * @throws what is a mistake of ours; then the channel is checked again later
 */
export async function checkChannel(
  deps: ChannelDeps,
  id: string,
  { dueBy, stopped }: Occasion,
): Promise<CheckEnd> {
  const { db } = deps
  const check = { id, holder: Buffer.from(deps.randomBytes(12)).toString('base64url') }
  const now = deps.now()
  const terms = { now, until: now + LEASE_MS, dueBy }
  if (!(await db.write((tx) => takeLease(tx, id, check.holder, terms)))) return 'taken'
  const giveBack = (notBefore: number) =>
    db.write((tx) => giveLeaseBack(tx, id, check.holder, notBefore))
  try {
    const end = await checkUnderLease(deps, check, stopped)
    if (end !== null) return end
    await giveBack(0)
    return 'dropped'
  } catch (error) {
    // Where even this fails, the lease ends by itself.
    await giveBack(deps.now() + RETRY_MS).catch(() => undefined)
    throw error
  }
}

/** Whether a check could change anything: a token that is to be placed may be there, or the proof may have gone. */
function isWorthChecking(channel: ChannelRow, now: number): boolean {
  const { proof_token: token, proof_expires_at: expiresAt } = channel
  const open = token !== null && expiresAt !== null && expiresAt > now
  return open || isCounting(channel, now)
}

/** @returns null where it was given up */
async function checkUnderLease(
  deps: ChannelDeps,
  check: Check,
  stopped: AbortSignal,
): Promise<CheckEnd | null> {
  const { db, site, outside } = deps
  const channel = await channelById(db.read, check.id)
  const agent = channel && (await agentByTail(db.read, channel.tail))
  if (channel === undefined || agent === undefined) return 'dropped'
  const kind = requireKind(outside, channel.kind)
  const now = deps.now()
  if (!isLookedFor(kind) || !isAlive(agent) || !isWorthChecking(channel, now)) {
    await db.write((tx) => endLease(tx, check.id, check.holder, null))
    return 'dropped'
  }
  const over = AbortSignal.any([stopped, AbortSignal.timeout(CHECK_MS)])
  const sought = soughtOf(site, agent, channel, now)
  const seen = await look(kind, outside.perspectives, sought, over)
  if (stopped.aborted) return null
  return db.write((tx) => settleCheck(deps, tx, check, { before: channel, seen }))
}

interface Settle {
  /** The channel when the check began. */
  readonly before: ChannelRow
  readonly seen: Look
}

/** Ends the lease, and records the check where it still is about the agent and the token that there are now. */
async function settleCheck(
  { now, outside, randomBytes }: ChannelDeps,
  tx: Tx,
  { id, holder }: Check,
  { before, seen }: Settle,
): Promise<CheckEnd> {
  const at = now()
  const channel = await channelById(tx.db, id)
  const agent = channel && (await agentByTail(tx.db, channel.tail))
  if (channel === undefined || agent === undefined) return 'dropped'
  if (!isAlive(agent)) {
    await endLease(tx, id, holder, null)
    return 'dropped'
  }
  const kind = requireKind(outside, channel.kind)
  // The owner may have asked for another token meanwhile, and the one that was seen is void.
  const isVoid = seen.token === 'fresh' && channel.proof_token !== before.proof_token
  const after = afterCheck(channel, isVoid ? NOBODY_KNOWS : seen, kind.freshForMs, at)
  const held = await endLease(tx, id, holder, spread(after.dueAt, at, randomBytes))
  if (!held || isVoid) return 'dropped'
  await recordCheck(tx, { agent, channel, after, look: seen, at })
  return seen.outcome
}

const NOBODY_KNOWS = { outcome: 'unreachable', token: null, method: null } as const

/** A suspended agent's channels are checked on: it may come back. */
function isAlive({ status }: AgentRow): boolean {
  return status !== 'revoked'
}

/** How often, and how long after one another, a check is tried while another is under way: that one began too early. */
const TRIES = 50
const PAUSE_MS = 200

/**
 * Checks a channel because its owner asks for it, after the check that may be under way.
 * @returns the channel after the check, with what each perspective saw
 * @throws CodedError VALIDATION_ERROR where a check is under way, there is nothing to look for or the agent has to come
 *   to us, NOT_FOUND
 */
export async function checkNow(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  const { agent, channel } = await requireOwnChannel(deps.db.read, deps, ownerId, reference, id)
  if (agent.status === 'revoked') {
    throw refusal('This agent is revoked: its channels are not checked.')
  }
  if (!isLookedFor(requireKind(deps.outside, channel.kind))) {
    throw refusal('This channel is proven by the agent itself.')
  }
  if (!isWorthChecking(channel, deps.now())) {
    throw refusal('There is nothing to look for: get a fresh token, place it, then check again.')
  }
  if (!(await checkInTurn(deps, id))) {
    // Gone, perhaps, with its lease.
    await requireOwnChannel(deps.db.read, deps, ownerId, reference, id)
    throw refusal('A check of this channel is under way. Try again in a minute.')
  }
  return afterCommit(() => showChannel(deps, ownerId, reference, id))
}

/** @returns false where others were at it all the time */
async function checkInTurn(deps: ChannelDeps, id: string): Promise<boolean> {
  const { signal: stopped } = new AbortController()
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await sleep(PAUSE_MS)
    if ((await checkChannel(deps, id, { dueBy: null, stopped })) !== 'taken') return true
    if ((await channelById(deps.db.read, id)) === undefined) return false
  }
  return false
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
