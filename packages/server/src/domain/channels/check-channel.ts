import { CodedError, type OwnerChannel } from '@countersign/protocol'
import { agentByTail } from '../../storage/agents.ts'
import { endLease, takeLease } from '../../storage/channel-leases.ts'
import { channelById } from '../../storage/channels.ts'
import { afterCheck } from './after-check.ts'
import { type ChannelDeps, requireKind } from './channel-deps.ts'
import { look } from './look.ts'
import { requireOwnChannel, showChannel } from './own-channel.ts'
import { isLookedFor, soughtOf } from './proof.ts'
import { recordCheck } from './record-check.ts'

/** Longer than any check takes: a node that died gives its lease up after it. */
const LEASE_MS = 120_000

/**
 * Checks a channel because its owner asks for it.
 * @returns the channel after the check, with what each perspective saw
 * @throws CodedError VALIDATION_ERROR where a check is under way or the agent has to come to us, NOT_FOUND
 */
export async function checkNow(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  const { agent, channel } = await requireOwnChannel(deps.db.read, deps, ownerId, reference, id)
  if (agent.status === 'revoked') {
    throw new CodedError('VALIDATION_ERROR', 'This agent is revoked: its channels are not checked.')
  }
  if (!isLookedFor(requireKind(deps.outside, channel.kind))) {
    throw new CodedError('VALIDATION_ERROR', 'This channel is proven by the agent itself.')
  }
  if (!(await checkChannel(deps, id))) {
    throw new CodedError('VALIDATION_ERROR', 'A check of this channel is under way.')
  }
  return showChannel(deps, ownerId, reference, id)
}

/**
 * Checks a channel under a lease, so that of all who would, one does.
 * @returns false where another is at it, or the channel is gone
 */
export async function checkChannel(deps: ChannelDeps, id: string): Promise<boolean> {
  const holder = Buffer.from(deps.randomBytes(12)).toString('base64url')
  const now = deps.now()
  const lease = { now, until: now + LEASE_MS }
  if (!(await deps.db.write((tx) => takeLease(tx, id, holder, lease)))) return false
  const channel = await channelById(deps.db.read, id)
  const agent = channel && (await agentByTail(deps.db.read, channel.tail))
  if (channel === undefined || agent === undefined) return false
  const kind = requireKind(deps.outside, channel.kind)
  const seen = await look(kind, deps.outside.perspectives, soughtOf(deps.site, agent, channel, now))
  await deps.db.write(async (tx) => {
    const current = await channelById(tx.db, id)
    const at = deps.now()
    // The owner may have asked for another token meanwhile: what was looked for is not what is wanted.
    const same = current?.proof_token === channel.proof_token
    const after = current && afterCheck(current, same ? seen : UNKNOWN, kind.freshForMs, at)
    if (!(await endLease(tx, id, holder, after?.dueAt ?? null))) return
    if (current !== undefined && after !== undefined) {
      await recordCheck(tx, { agent, channel: current, after, look: seen, at })
    }
  })
  return true
}

const UNKNOWN = { outcome: 'unreachable', token: null, method: null } as const
