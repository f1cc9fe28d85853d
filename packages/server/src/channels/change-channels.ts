import { CodedError, type NewChannel, type OwnerChannel } from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../accounts/owner-suspension.ts'
import { requireOwn } from '../agents/find-agent.ts'
import { tailOf } from '../base/site.ts'
import type { ChannelRow, Tx } from '../database/database.ts'
import { afterCommit } from '../http/errors.ts'
import { deleteWithEvent } from './channel-lifecycle.ts'
import { tokenCheckAt } from './channel-state.ts'
import { channelsOfAgent, insertChannel, updateChannel } from './channel-table.ts'
import { scheduleCheck, scheduleCheckBy } from './check-table.ts'
import { describeOwnChannel, getOwnChannel, newToken } from './describe-channels.ts'
import {
  type ChannelDeps,
  type ChannelKind,
  getKind,
  InvalidHandleError,
  isCheckedByService,
} from './kinds/kind.ts'

const MAX_CHANNELS = 20

/**
 * Adds a channel to one of the owner's agents, with a token to prove it. If the agent already has the channel, only a fresh
 * token is issued.
 * @param reference the agent's DID or tail
 * @returns the channel, with the proof that the owner has to place
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, FORBIDDEN if the owner is suspended
 */
export async function addChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  request: NewChannel,
): Promise<OwnerChannel> {
  const kind = getKind(deps.channelSources, request.kind)
  const handle = parseHandle(kind, request.handleOrDomain)
  const id = await deps.db.write(async (tx) => {
    const agent = await requireOwn(tx.db, ownerId, tailOf(deps.site.naming, reference))
    assertNotRevoked(agent.status)
    await assertOwnerNotSuspended(tx.db, ownerId)
    const channels = await channelsOfAgent(tx.db, agent.tail)
    const same = channels.find((e) => e.kind === kind.id && e.handle_or_domain === handle)
    if (same !== undefined) return issueToken(deps, tx, kind, same.id)
    assertKindAvailable(kind, channels)
    if (channels.length >= MAX_CHANNELS) {
      throw new CodedError('VALIDATION_ERROR', `An agent has at most ${MAX_CHANNELS} channels.`)
    }
    return insert(deps, tx, { tail: agent.tail, kind, handle })
  })
  return afterCommit(() => describeOwnChannel(deps, ownerId, reference, id))
}

/**
 * Issues a fresh token, so that a channel can be proven again. An earlier token that has proven nothing becomes void.
 * @param reference the agent's DID or tail
 * @param id the channel's id
 * @returns the channel, with the proof that the owner has to place
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, FORBIDDEN if the owner is suspended
 */
export async function renewChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  await deps.db.write(async (tx) => {
    const { agent, channel } = await getOwnChannel(tx.db, deps, ownerId, reference, id)
    assertNotRevoked(agent.status)
    await assertOwnerNotSuspended(tx.db, ownerId)
    await issueToken(deps, tx, getKind(deps.channelSources, channel.kind), id)
  })
  return afterCommit(() => describeOwnChannel(deps, ownerId, reference, id))
}

function parseHandle(kind: ChannelKind, text: string): string {
  try {
    return kind.parse(text)
  } catch (error) {
    if (!(error instanceof InvalidHandleError)) throw error
    throw new CodedError('VALIDATION_ERROR', error.message)
  }
}

function assertNotRevoked(status: string): void {
  if (status !== 'revoked') return
  throw new CodedError('VALIDATION_ERROR', 'This agent is revoked. You cannot add channels to it.')
}

/** An agent has one runtime channel at most: an answer to a challenge does not say which of several it would prove. */
function assertKindAvailable(kind: ChannelKind, channels: readonly ChannelRow[]): void {
  if (isCheckedByService(kind)) return
  const other = channels.find((each) => each.kind === kind.id)
  if (other === undefined) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent has one channel of this kind: remove ${other.handle_or_domain} first.`,
  )
}

async function issueToken(
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
  target: { readonly tail: string; readonly kind: ChannelKind; readonly handle: string },
): Promise<string> {
  const at = now()
  const id = `ch_${Buffer.from(randomBytes(12)).toString('base64url')}`
  const token = newToken(randomBytes, at)
  await insertChannel(tx, {
    id,
    tail: target.tail,
    kind: target.kind.id,
    handle_or_domain: target.handle,
    tier: target.kind.tier,
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
  await scheduleCheck(tx, id, firstCheckAt(target.kind, token, at))
  return id
}

/** Checks also run without a request, because the owner may place the token and close the page. */
function firstCheckAt(
  kind: ChannelKind,
  token: ReturnType<typeof newToken>,
  now: number,
): number | null {
  return isCheckedByService(kind) ? tokenCheckAt(token, now) : null
}

/**
 * Removes a channel with its tokens and checks. A channel that was ever proven leaves a `channel.removed` event.
 * @param reference the agent's DID or tail
 * @param id the channel's id
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function removeChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<void> {
  await deps.db.write(async (tx) => {
    const { channel } = await getOwnChannel(tx.db, deps, ownerId, reference, id)
    await deleteWithEvent(tx, channel, { reason: 'owner', at: deps.now() })
  })
}
