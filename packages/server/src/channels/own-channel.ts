import { CodedError, type OwnerChannel } from '@countersign/protocol'
import { requireOwn, tailOf } from '../agent-management/own-agent.ts'
import type { AgentRow, ChannelRow, Db } from '../core/database/database.ts'
import type { ChannelDeps } from './channel-deps.ts'
import { channelById } from './channel-table.ts'
import { showChannels } from './show-channels.ts'

export interface OwnChannel {
  readonly agent: AgentRow
  readonly channel: ChannelRow
}

/**
 * A channel of one of the owner's agents. Of another's it says what it says of one that does not exist.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function requireOwnChannel(
  db: Db,
  { site }: Pick<ChannelDeps, 'site'>,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnChannel> {
  const agent = await requireOwn(db, ownerId, tailOf(site.naming, reference))
  const channel = await channelById(db, id)
  if (channel?.tail !== agent.tail) throw notFound()
  return { agent, channel }
}

/** @throws CodedError NOT_FOUND where it has been removed meanwhile */
export async function showChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  const channels = await showChannels(deps, ownerId, reference)
  const channel = channels.find((each) => each.id === id)
  if (channel === undefined) throw notFound()
  return channel
}

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'This agent has no such channel.')
}
