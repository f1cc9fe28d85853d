import type { NotificationKind } from '@countersign/protocol'
import type { NotificationDetails } from '../../accounts/notifications/notify-owner.ts'
import type { AppliedChange, Change, ChangeOf, ChangeType, StatusSet } from './change.ts'

/** The reason of a veto. */
export const VETO = 'veto'

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

/** Neither the body nor the message of the agent: e-mails are copied and forwarded. Of decisions, only what nearly uses up a mandate. */
export function notifyOfApproval({
  change,
  after,
  seq,
}: AppliedChange<
  ChangeOf<'agent.approval_requested' | 'agent.approval_decided'>
>): NotificationDraft | null {
  const { tail, agent_id: agentId } = after
  const draft = { kind: 'approval', subject: `${tail}:${seq}` } as const
  if (change.type === 'agent.approval_requested') {
    const { approval, host, method, expiresAt } = change
    return { ...draft, details: { tail, agentId, approval, host, method, expiresAt } }
  }
  if (change.mandate === undefined) return null
  const { id: mandate, percent } = change.mandate
  return { ...draft, details: { tail, agentId, mandate, percent } }
}

export function notifyOfStatus(
  kind: NotificationKind,
  { change: { reason, setBy: by }, after, seq }: AppliedChange<StatusSet<ChangeType> & Change>,
): NotificationDraft {
  const { tail, agent_id: agentId } = after
  return { kind, subject: `${tail}:${seq}`, details: { tail, agentId, reason, by } }
}

export function notifyOfKey({ change, after, seq }: AppliedChange): NotificationDraft {
  const { tail, agent_id: agentId } = after
  const reason = change.type === 'agent.key_recovery_vetoed' ? VETO : reasonOf(change)
  const details = { tail, agentId, event: change.type, reason }
  return { kind: 'agent_key_changed', subject: `${tail}:${seq}`, details }
}

function reasonOf(change: Change): string | null {
  return 'reason' in change ? change.reason : null
}

/** One notification for all agents of a transfer: they have the subject in common. */
export function notifyOfMove(
  change: 'released' | 'taken',
  { change: { move }, after }: AppliedChange<ChangeOf<'agent.released' | 'agent.owner_changed'>>,
): NotificationDraft {
  const { transfer, agents, from, to } = move
  const { tail, agent_id: agentId } = after
  const username = change === 'released' ? to : from
  const details = { change, tail, agentId, agents, username }
  return { kind: 'transfer', subject: `${transfer}:${change}`, details }
}
