import type { NotificationKind } from '@countersign/protocol'
import type { NotificationDetails } from '../../accounts/notifications/notify-owner.ts'
import type { AppliedChange, ChangeOf } from './change.ts'

/** What an owner is notified of. */
export interface NotificationDraft {
  readonly kind: NotificationKind
  readonly subject: string
  readonly details: NotificationDetails
}

export function notifyOfDelegation({
  change: { maxDepth, by },
  before,
  after,
  seq,
}: AppliedChange<ChangeOf<'agent.delegation_changed'>>): NotificationDraft {
  const { tail, agent_id: agentId } = after
  const details = { tail, agentId, formerDepth: before.delegation_depth, maxDepth, by }
  return { kind: 'agent_delegation_changed', subject: `${tail}:${seq}`, details }
}

/** Agents end their own groups as a matter of course: each would be an e-mail that owners cannot turn off. */
export function notifyOfGroup({
  change: { label, by, isSilent },
  after,
  seq,
}: AppliedChange<ChangeOf<'agent.delegation_ended'>>): NotificationDraft | null {
  if (isSilent || by === 'agent') return null
  const { tail, agent_id: agentId } = after
  const details = { tail, agentId, label, by }
  return { kind: 'agent_delegation_changed', subject: `${tail}:${seq}`, details }
}
