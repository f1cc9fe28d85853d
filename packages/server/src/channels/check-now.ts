import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, type OwnerChannel } from '@countersign/protocol'
import { afterCommit } from '../core/errors.ts'
import { type ChannelDeps, requireKind } from './channel-deps.ts'
import { channelById } from './channel-table.ts'
import { checkChannel, isWorthChecking } from './check-channel.ts'
import { requireOwnChannel, showChannel } from './own-channel.ts'
import { isLookedFor } from './proof.ts'

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
