import { canonicalJson, type JsonValue, keyThumbprint } from '@countersign/protocol'
import type { NewNotification } from '../../accounts/notifications/notify-owner.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentEvent } from '../../database/event-table.ts'
import type { LogQueueRow } from '../../database/schema/log-rows.ts'
import {
  type AppliedChange,
  type Change,
  type ChangedChannel,
  type ChangeOf,
  type ChangeType,
  changesOfProfile,
  type LogDelay,
  type LogEntryDraft,
  type Move,
  type NotificationDraft,
  type Rule,
  type StatusSet,
  type Subject,
} from './change.ts'

/** The reason of a veto. */
const VETO = 'veto'

/** Why a channel is removed if an agent of another owner has proven the same handle. */
export const PROVEN_BY_ANOTHER = 'proven-by-another'
/** Why a channel is removed if the agent moves to another person or organisation. */
export const OWNER_CHANGED = 'owner-changed'

/** A change that the log will have, as it is queued. */
export interface LoggedChange extends Omit<LogQueueRow, 'entry' | 'not_before'> {
  /** The members of the entry that are known before it has a place. */
  readonly members: Readonly<Record<string, JsonValue>>
}

/** What each kind of change leaves behind. Whatever follows in other rooms is an effect (`service/effects.ts`). */
export const RULES: { readonly [Type in ChangeType]: Rule<ChangeOf<Type>> } = {
  'agent.claimed': {
    payload: ({ after }) => ({ publicKey: Buffer.from(after.public_key).toString('base64') }),
    log: ({ change, after }) => ({
      change: { type: 'claimed', grade: after.grade },
      by: 'agent',
      evidence: change.evidence,
    }),
  },
  'agent.updated': {
    payload: ({ change: { profile }, before }) => changesOfProfile(before, profile),
  },
  'agent.directory_proven': {
    payload: ({ change: { proof } }) => ({
      keyid: proof.keyid,
      expiresAt: timestamp(proof.expires * 1000),
    }),
  },
  'agent.suspended': {
    payload: statusPayload,
    log: logOfStatus,
    notification: ({ before, change }) => {
      // `agent.renounced` of the same transaction notifies of a suspension by the agent.
      const isNew = before.status !== 'suspended' && !change.isBulk && change.setBy !== 'agent'
      return isNew ? notifyOfStatus('agent_suspended', change) : null
    },
    statusEntry: 'regrade',
  },
  'agent.reactivated': { payload: statusPayload, log: logOfStatus, statusEntry: 'regrade' },
  'agent.revoked': {
    payload: statusPayload,
    log: logOfStatus,
    notification: ({ change }) => (change.isBulk ? null : notifyOfStatus('agent_revoked', change)),
    statusEntry: 'regrade',
  },
  'agent.renounced': {
    payload: ({ change: { finalAt } }) => ({ finalAt: timestamp(finalAt) }),
    notification: ({ change: { finalAt } }) => ({ kind: 'agent_renounced', details: { finalAt } }),
  },
  // Of the owner before the move: the events of an owner say nothing of another one.
  'agent.released': {
    payload: () => ({}),
    notification: ({ change: { move } }) => notifyOfMove('released', move),
  },
  'agent.owner_changed': {
    payload: () => ({}),
    log: ({ change: { grade, move } }) => ({
      change: { type: 'owner_changed', grade },
      by: 'owner',
      evidence: { transfer: move.transfer },
    }),
    notification: ({ change: { move } }) => notifyOfMove('taken', move),
    statusEntry: 'owner',
  },
  'agent.grade_changed': {
    payload: gradePayload,
    // The grade of an agent that is not active follows from its status, which has an entry.
    log: (applied) =>
      applied.after.status === 'active'
        ? {
            change: { type: 'grade', grade: applied.change.to },
            by: 'service',
            evidence: gradePayload(applied),
          }
        : null,
  },
  // No entry in the log: without the key of the agent, which is logged, the claim gives nobody power.
  'agent.delegation_changed': {
    payload: ({ change: { maxDepth, by }, before }) => ({
      maxDepth,
      ended: maxDepth <= before.delegation_depth,
      by,
    }),
    notification({ change: { maxDepth, by, isSilent }, before }) {
      const details = { formerDepth: before.delegation_depth, maxDepth, by }
      return isSilent ? null : { kind: 'agent_delegation_changed', details }
    },
    statusEntry: 'delegation',
  },
  // Public data only: no label.
  'agent.delegation_created': {
    payload: ({ change: { id, expiresAt } }) => ({ id, expiresAt: timestamp(expiresAt) }),
  },
  'agent.delegation_ended': {
    payload: ({ change: { id, by } }) => ({ id, by }),
    // Agents end their own groups as a matter of course: each would be an e-mail that owners cannot turn off.
    notification: ({ change: { label, by, isSilent } }) =>
      isSilent || by === 'agent'
        ? null
        : { kind: 'agent_delegation_changed', details: { label, by } },
  },
  'agent.key_rotated': {
    payload: rotationPayload,
    log: (applied) => ({
      change: applied.change.rotation,
      by: 'agent',
      evidence: rotationPayload(applied),
    }),
    notification: notifyOfKey,
    statusEntry: 'replace',
  },
  'agent.key_recovered': {
    payload: recoveredPayload,
    log: (applied) => ({
      change: { type: 'key_recovered' },
      by: 'owner',
      evidence: recoveredPayload(applied),
    }),
    notification: notifyOfKey,
    statusEntry: 'replace',
  },
  'agent.key_contested': {
    payload: contestPayload,
    log: (applied) => ({
      change: { type: 'key_contested' },
      by: 'owner',
      evidence:
        applied.change.newKey === null
          ? { ...contestPayload(applied), evidence: null }
          : contestPayload(applied),
    }),
    notification: notifyOfKey,
    statusEntry: 'replace',
  },
  'agent.key_compromised': {
    payload: ({ change }) => keyPayload(change.sequence, change.key),
    // A revoked agent loses nothing by it, and its owner may have been erased.
    notification: (applied) =>
      applied.change.isSilent || applied.after.status === 'revoked' ? null : notifyOfKey(applied),
    statusEntry: 'invalidate',
  },
  'agent.key_recovery_started': {
    payload: recoveryPayload,
    log: (applied) => ({
      change: { type: 'key_recovery_started' },
      by: 'owner',
      evidence: { ...recoveryPayload(applied), evidence: null },
    }),
    notification: notifyOfKey,
  },
  'agent.key_recovery_redeemed': {
    payload: ({ change: { sequence, newKey, effectiveAt } }) => ({
      ...keyPayload(sequence, newKey),
      effectiveAt: timestamp(effectiveAt),
    }),
    notification: notifyOfKey,
  },
  'agent.key_recovery_vetoed': {
    payload: () => ({ reason: VETO }),
    log: ({ change: { evidence } }) => ({
      change: { type: 'key_recovery_vetoed' },
      by: 'agent',
      evidence: { reason: VETO, evidence },
    }),
    notification: notifyOfKey,
  },
  'agent.key_recovery_cancelled': {
    payload: ({ change: { reason } }) => ({ reason }),
    notification: notifyOfKey,
  },
  // What a person approves is not public: no entry in the log, and a payload that says nothing.
  // Notifications have neither the body nor the message of the agent: e-mails are copied and forwarded.
  'agent.approval_requested': {
    payload: () => ({}),
    notification: ({ change: { approval, host, method, expiresAt } }) => ({
      kind: 'approval',
      details: { approval, host, method, expiresAt },
    }),
  },
  'agent.approval_decided': {
    payload: () => ({}),
    // Only of what nearly uses up a mandate.
    notification: ({ change: { mandate } }) =>
      mandate === undefined
        ? null
        : { kind: 'approval', details: { mandate: mandate.id, percent: mandate.percent } },
  },
  'channel.verified': {
    payload: ({ change: { channel } }) => handleOf(channel),
    log: ({ change, after }) => channelEntry('channel_verified', change.channel, null, after),
    statusEntry: 'regrade',
  },
  'channel.stale': {
    payload: lossPayload,
    log: ({ change, after }) => channelEntry('channel_lost', change.channel, change.reason, after),
    notification: notifyOfLoss,
    statusEntry: 'regrade',
  },
  'channel.removed': {
    payload: lossPayload,
    log: ({ change, after }) => channelEntry('channel_lost', change.channel, change.reason, after),
    notification: notifyOfLoss,
    statusEntry: 'regrade',
  },
}

/** The event of a change. */
export function eventOf(applied: AppliedChange): AgentEvent {
  const { seq, at, change, after } = applied
  const rule: Rule = RULES[change.type]
  const { tail, owner_id: ownerId } = after
  return { seq, at, type: change.type, tail, ownerId, payload: rule.payload(applied) }
}

/** What the log says of a change; null: it has no entry of it. */
export function loggedChangeOf(applied: AppliedChange): LoggedChange | null {
  const { seq, at, change, after } = applied
  const rule: Rule = RULES[change.type]
  const logged = rule.log?.(applied) ?? null
  if (logged === null) return null
  const { tail, owner_id, key_sequence: keySequence, key_thumbprint } = after
  const key = Buffer.from(key_thumbprint).toString('base64url')
  return {
    seq,
    tail,
    owner_id,
    type: logged.change.type,
    members: { ...logged.change, key, keySequence, by: logged.by, at },
    evidence: canonicalJson(logged.evidence),
  }
}

/** The row of the log's queue for a change that is due at once. */
export function queueRowOf({ members, ...change }: LoggedChange): LogQueueRow {
  return { ...change, entry: JSON.stringify(members), not_before: 0 }
}

/** What the owner is notified of; null: of nothing. */
export function notificationOf(applied: AppliedChange): NewNotification | null {
  const rule: Rule = RULES[applied.change.type]
  const notified = rule.notification?.(applied) ?? null
  if (notified === null) return null
  const { tail, agent_id: agentId, owner_id: ownerId } = applied.after
  const { kind, subject = `${tail}:${applied.seq}` } = notified
  return { ownerId, kind, subject, details: { tail, agentId, ...notified.details }, at: applied.at }
}

/** How long the entry of a change waits. */
export function delayOf(change: Change): LogDelay {
  if (change.type === 'agent.owner_changed') return 'spread'
  if (change.type === 'channel.removed' && SPREAD_LOSSES.has(change.reason)) return 'spread'
  return 'delay' in change ? (change.delay ?? 'none') : 'none'
}

/** Channels that are lost for what happens to several agents of an owner at this moment. */
const SPREAD_LOSSES: ReadonlySet<string> = new Set([PROVEN_BY_ANOTHER, OWNER_CHANGED])

function statusPayload({ change, after }: AppliedChange<StatusSet<ChangeType> & Change>) {
  return { status: after.status, reason: change.reason }
}

function logOfStatus({
  change,
  after,
}: AppliedChange<StatusSet<ChangeType> & Change>): LogEntryDraft {
  const { reason, setBy: by, evidence = null } = change
  return {
    change: { type: 'status', status: after.status, reason },
    by,
    evidence: { reason, evidence },
  }
}

function gradePayload({ change, before }: AppliedChange<ChangeOf<'agent.grade_changed'>>) {
  return { from: before.grade, to: change.to }
}

function keyPayload(keySequence: number, key: Uint8Array) {
  return { keySequence, keyThumbprint: keyThumbprint(key) }
}

function rotationPayload({ before, after, change }: AppliedChange<ChangeOf<'agent.key_rotated'>>) {
  return {
    ...keyPayload(after.key_sequence, change.newKey),
    previousKeyThumbprint: keyThumbprint(before.public_key),
  }
}

function recoveredPayload({ after, change }: AppliedChange<ChangeOf<'agent.key_recovered'>>) {
  const { key_sequence: keySequence, key_thumbprint } = after
  const thumbprint = Buffer.from(key_thumbprint).toString('base64url')
  return { keySequence, keyThumbprint: thumbprint, reason: change.reason }
}

function contestPayload({ after, change }: AppliedChange<ChangeOf<'agent.key_contested'>>) {
  const { lastGoodSequence, reason, newKey } = change
  const contested = { lastGoodSequence, reason }
  return newKey === null ? contested : { ...keyPayload(after.key_sequence, newKey), ...contested }
}

function recoveryPayload({ after, change }: AppliedChange<ChangeOf<'agent.key_recovery_started'>>) {
  return { keySequence: after.key_sequence, reason: change.reason }
}

function handleOf({ kind, handle_or_domain: handleOrDomain }: ChangedChannel) {
  return { kind, handleOrDomain }
}

function lossPayload({
  change: { channel, reason },
}: AppliedChange<ChangeOf<'channel.stale' | 'channel.removed'>>) {
  return { ...handleOf(channel), reason }
}

/** The log names the kind and the tier only: a handle may identify a person. The end of a revoked agent has an entry already. */
function channelEntry(
  type: 'channel_verified' | 'channel_lost',
  channel: ChangedChannel,
  reason: string | null,
  { status }: Subject,
): LogEntryDraft | null {
  if (status === 'revoked') return null
  const { kind, tier } = channel
  return {
    change: { type, kind, tier },
    by: reason === 'owner' ? 'owner' : 'service',
    evidence: { ...handleOf(channel), reason },
  }
}

function notifyOfStatus(
  kind: NotificationDraft['kind'],
  { reason, setBy: by }: StatusSet<ChangeType>,
): NotificationDraft {
  return { kind, details: { reason, by } }
}

function notifyOfKey({ change }: AppliedChange): NotificationDraft {
  const given = 'reason' in change ? change.reason : null
  const reason = change.type === 'agent.key_recovery_vetoed' ? VETO : given
  return { kind: 'agent_key_changed', details: { event: change.type, reason } }
}

/** One notification for all agents of a transfer: they have the subject in common. */
function notifyOfMove(
  change: 'released' | 'taken',
  { transfer, agents, from, to }: Move,
): NotificationDraft {
  const details = { change, agents, username: change === 'released' ? to : from }
  return { kind: 'transfer', subject: `${transfer}:${change}`, details }
}

function notifyOfLoss({
  change: { channel, reason, isSilent },
  after,
  at,
}: AppliedChange<ChangeOf<'channel.stale' | 'channel.removed'>>): NotificationDraft | null {
  if (isSilent || after.status === 'revoked') return null
  const { id: channelId, kind: channelKind, handle_or_domain: handle } = channel
  const details = { channelId, channelKind, handle, reason }
  return { kind: 'channel_lost', subject: `${channelId}:${at}`, details }
}
