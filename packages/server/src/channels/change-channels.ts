import { CodedError, type NewChannel, type OwnerChannel } from '@countersign/protocol'
import { requireOwn, tailOf } from '../agents/require-own-agent.ts'
import type { ChannelRow, Tx } from '../core/database/database.ts'
import { afterCommit } from '../core/errors.ts'
import { planEnd } from './channel-end.ts'
import { channelsOfAgent, deleteChannel, insertChannel, updateChannel } from './channel-table.ts'
import { scheduleCheck, scheduleCheckBy } from './check-table.ts'
import { type ChannelDeps, requireKind } from './deps.ts'
import { type ChannelKind, HandleRefusal } from './kinds/kind.ts'
import { isLookedFor, newToken } from './proof.ts'
import { recordChannelEvent } from './record-channel-event.ts'
import { tokenCheckAt } from './schedule.ts'
import { requireOwnChannel, showChannel } from './show-channels.ts'

const MOST_CHANNELS = 20

/**
 * Begins to prove where an agent can be reached. A place that the agent has already gets a fresh token.
 * @returns the channel, with what its owner has to place
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function addChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  request: NewChannel,
): Promise<OwnerChannel> {
  const kind = requireKind(deps.outside, request.kind)
  const handle = parseHandle(kind, request.handleOrDomain)
  const id = await deps.db.write(async (tx) => {
    const agent = await requireOwn(tx.db, ownerId, tailOf(deps.site.naming, reference))
    requireLive(agent.status)
    const channels = await channelsOfAgent(tx.db, agent.tail)
    const same = channels.find((e) => e.kind === kind.id && e.handle_or_domain === handle)
    if (same !== undefined) return giveToken(deps, tx, kind, same.id)
    requireRoomFor(kind, channels)
    if (channels.length >= MOST_CHANNELS) {
      throw new CodedError('VALIDATION_ERROR', `An agent has at most ${MOST_CHANNELS} channels.`)
    }
    return insert(deps, tx, { tail: agent.tail, kind, handle })
  })
  return afterCommit(() => showChannel(deps, ownerId, reference, id))
}

/**
 * Gives a channel a fresh token, so that it can be proven anew; the one before it is void.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function renewChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  await deps.db.write(async (tx) => {
    const { agent, channel } = await requireOwnChannel(tx.db, deps, ownerId, reference, id)
    requireLive(agent.status)
    await giveToken(deps, tx, requireKind(deps.outside, channel.kind), id)
  })
  return afterCommit(() => showChannel(deps, ownerId, reference, id))
}

function parseHandle(kind: ChannelKind, text: string): string {
  try {
    return kind.parse(text)
  } catch (error) {
    if (!(error instanceof HandleRefusal)) throw error
    throw new CodedError('VALIDATION_ERROR', error.message)
  }
}

function requireLive(status: string): void {
  if (status !== 'revoked') return
  throw new CodedError('VALIDATION_ERROR', 'This agent is revoked: nothing can be added to it.')
}

/** Where the agent comes to us nothing tells its places apart, so it has one of the kind. */
function requireRoomFor(kind: ChannelKind, channels: readonly ChannelRow[]): void {
  const other = isLookedFor(kind) ? undefined : channels.find((each) => each.kind === kind.id)
  if (other === undefined) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent has one channel of this kind: remove ${other.handle_or_domain} first.`,
  )
}

async function giveToken(
  { randomBytes, now }: ChannelDeps,
  tx: Tx,
  kind: ChannelKind,
  id: string,
): Promise<string> {
  const at = now()
  const token = newToken(randomBytes, at)
  await updateChannel(tx, id, token)
  const dueAt = firstCheckAt(kind, token, at)
  if (dueAt !== null) await scheduleCheckBy(tx, id, dueAt)
  return id
}

async function insert(
  { randomBytes, now }: ChannelDeps,
  tx: Tx,
  place: { readonly tail: string; readonly kind: ChannelKind; readonly handle: string },
): Promise<string> {
  const at = now()
  const id = `ch_${Buffer.from(randomBytes(12)).toString('base64url')}`
  const token = newToken(randomBytes, at)
  await insertChannel(tx, {
    id,
    tail: place.tail,
    kind: place.kind.id,
    handle_or_domain: place.handle,
    tier: place.kind.tier,
    created_at: at,
    ...token,
    proven_token: null,
    proven_by: null,
    verified_at: null,
    checked_at: null,
    fresh_until: null,
    stale_since: null,
    failures: 0,
    failing_since: null,
    failed_at: null,
  })
  await scheduleCheck(tx, id, firstCheckAt(place.kind, token, at))
  return id
}

/** The token is looked for by itself too: the owner may place it and close the page. */
function firstCheckAt(
  kind: ChannelKind,
  token: ReturnType<typeof newToken>,
  now: number,
): number | null {
  return isLookedFor(kind) ? tokenCheckAt(token, now) : null
}

/**
 * Removes a channel with its history. One that was never proven goes without a word.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function removeChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<void> {
  await deps.db.write(async (tx) => {
    const { agent, channel } = await requireOwnChannel(tx.db, deps, ownerId, reference, id)
    await deleteChannel(tx, id)
    await planEnd(tx, id, null)
    if (channel.verified_at === null) return
    const told = { channel, type: 'channel.removed', payload: { reason: 'owner' } } as const
    await recordChannelEvent(tx, agent, { ...told, at: deps.now() })
  })
}
