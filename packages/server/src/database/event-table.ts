import type { Db, EventRow, Tx } from './database.ts'
import { prepared } from './prepared.ts'

/** Every type of event (docs/contract/events.md). */
export type EventType = AgentEventType | OwnerEventType | StatusEventType

/** Events of agents and their channels. `agents/changes/changes.ts` has a rule for each. */
export type AgentEventType =
  | 'agent.claimed'
  | 'agent.updated'
  | 'agent.suspended'
  | 'agent.reactivated'
  | 'agent.revoked'
  | 'agent.renounced'
  | 'agent.released'
  | 'agent.owner_changed'
  | 'agent.grade_changed'
  | 'agent.delegation_changed'
  | 'agent.delegation_created'
  | 'agent.delegation_ended'
  | 'agent.key_compromised'
  | 'agent.directory_proven'
  | 'agent.approval_requested'
  | 'agent.approval_decided'
  | 'agent.key_rotated'
  | 'agent.key_contested'
  | 'agent.key_recovery_started'
  | 'agent.key_recovery_redeemed'
  | 'agent.key_recovery_vetoed'
  | 'agent.key_recovery_cancelled'
  | 'agent.key_recovered'
  | 'channel.verified'
  | 'channel.stale'
  | 'channel.removed'

type OwnerEventType =
  | 'owner.identity_verified'
  | 'owner.identity_expired'
  | 'owner.updated'
  | 'owner.suspended'
  | 'owner.reactivated'
  | 'owner.deleted'
  | 'owner.api_key_created'
  | 'owner.api_key_revoked'
  | 'owner.enrolment_rule_created'
  | 'owner.enrolment_rule_changed'
  | 'owner.enrolment_rule_deleted'

/** Events of status lists. They name no agent and no owner, so that readers of the list learn nothing more from them. */
type StatusEventType = 'status.allocated' | 'status.changed' | 'status.epoch_began'

export interface NewEvent<Type extends EventType = OwnerEventType | StatusEventType> {
  readonly seq: number
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  readonly type: Type
  readonly tail: string | null
  readonly ownerId: number | null
  /** Public data only: subscribers and audits read it. Stored as JSON. */
  readonly payload: object
}

export type AgentEvent = NewEvent<AgentEventType>

const insert = prepared<EventRow, object>((db, param) =>
  db.insertInto('events').values({
    seq: param('seq'),
    at: param('at'),
    type: param('type'),
    tail: param('tail'),
    owner_id: param('owner_id'),
    payload: param('payload'),
  }),
)

/** Appends an event in the transaction of the change that it records. */
export async function appendEvent(tx: Tx, event: NewEvent): Promise<void> {
  await append(tx, event)
}

/** Like `appendEvent`, for `agents/changes/` and a batch of claims: every other change of an agent goes through `changeAgent`. */
export async function appendAgentEvent(tx: Tx, event: AgentEvent): Promise<void> {
  await append(tx, event)
}

async function append(tx: Tx, event: NewEvent<EventType>): Promise<void> {
  const { ownerId, payload, ...rest } = event
  await insert(tx.db, { ...rest, owner_id: ownerId, payload: JSON.stringify(payload) })
}

/** The events with these sequence numbers that are there. */
export async function eventsBySeqs(db: Db, seqs: readonly number[]): Promise<EventRow[]> {
  // PostgreSQL rejects `in ()`.
  if (seqs.length === 0) return []
  return db.selectFrom('events').selectAll().where('seq', 'in', seqs).execute()
}

/** Erases whose event it is. */
export async function eraseOwnerOfEvent(tx: Tx, seq: number): Promise<void> {
  await tx.db.updateTable('events').set({ owner_id: null }).where('seq', '=', seq).execute()
}

const selectLast = prepared<object, { last: number | null }>((db) =>
  db.selectFrom('events').select((eb) => eb.fn.max('seq').as('last')),
)

/** The sequence number of the last event; 0 if there is none. */
export async function lastSeq(db: Db): Promise<number> {
  return (await selectLast(db, {}))[0]?.last ?? 0
}

const selectAfter = prepared<{ after: number; limit: number }, EventRow>((db, param) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('seq', '>', param('after'))
    .orderBy('seq')
    .limit(param('limit')),
)

/** The events after a sequence number, in order. */
export function eventsAfter(db: Db, after: number, limit: number) {
  return selectAfter(db, { after, limit })
}

/**
 * Whether two databases show the same event under a sequence number. After a failover both may have one there, but not of
 * the same time, type and agent. The payload and the owner are not compared: deleting an owner's account erases them.
 */
export function isSameEvent(a: EventRow, b: EventRow | undefined): boolean {
  return (
    b !== undefined && a.seq === b.seq && a.at === b.at && a.type === b.type && a.tail === b.tail
  )
}
