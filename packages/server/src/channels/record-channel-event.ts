import { touchAgent } from '../agents/agent-table.ts'
import { regrade } from '../agents/regrade.ts'
import type { AgentRow, ChannelRow, Tx } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'

interface Told {
  readonly channel: Pick<ChannelRow, 'kind' | 'handle_or_domain'>
  readonly type: 'channel.verified' | 'channel.stale' | 'channel.removed'
  /** Beside kind and handle, public facts only. */
  readonly payload: object
  readonly at: number
}

/** Tells of a change of a channel, after it was written, and of the grade that came of it. */
export async function recordChannelEvent(
  tx: Tx,
  agent: AgentRow,
  { channel, type, payload, at }: Told,
): Promise<void> {
  const { tail, owner_id: ownerId } = agent
  const seq = tx.nextSeq()
  await touchAgent(tx, tail, { at, version: seq })
  const place = { kind: channel.kind, handleOrDomain: channel.handle_or_domain }
  await appendEvent(tx, { seq, at, type, tail, ownerId, payload: { ...place, ...payload } })
  await regrade(tx, tail, at)
}
