import type {
  AgentChange,
  Grade,
  JsonValue,
  KeyChange,
  KeyRotation,
  LogActor,
  NotificationKind,
  StatusActor,
} from '@countersign/protocol'
import type { NotificationDetails } from '../../accounts/notifications/notify-owner.ts'
import type { AgentRow, ChannelRow } from '../../database/database.ts'
import type { AgentEventType } from '../../database/event-table.ts'
import type { StoredDirectoryProof } from '../agent-record.ts'
import type { ProfileColumns } from '../manage/own-agent-table.ts'

/** A change of an agent, by the type of its event. */
export type Change =
  | { readonly type: 'agent.claimed'; readonly evidence: JsonValue }
  | { readonly type: 'agent.updated'; readonly profile: Partial<ProfileColumns> }
  | { readonly type: 'agent.directory_proven'; readonly proof: StoredDirectoryProof }
  | StatusSet<'agent.suspended'>
  | StatusSet<'agent.reactivated'>
  | StatusSet<'agent.revoked'>
  /** The current key gives the agent up. `agent.suspended` follows, and the revocation at `finalAt` (milliseconds since 1970). */
  | { readonly type: 'agent.renounced'; readonly finalAt: number }
  /** The owner gives the agent away: before `agent.owner_changed`, and still of that owner. */
  | { readonly type: 'agent.released'; readonly move: Move }
  /** The agent has another owner. `grade`: what it is under that one. */
  | { readonly type: 'agent.owner_changed'; readonly move: Move; readonly grade: Grade }
  | { readonly type: 'agent.grade_changed'; readonly to: Grade; readonly delay: LogDelay }
  /** How many hops a chain may have. If it is not more than before, all delegations end. */
  | {
      readonly type: 'agent.delegation_changed'
      readonly maxDepth: number
      readonly by: DelegationActor
      /** The owner did it themselves, in a session: they are not notified. */
      readonly isSilent: boolean
    }
  /** A group of delegations, which has a certificate of its own. */
  | { readonly type: 'agent.delegation_created'; readonly id: string; readonly expiresAt: number }
  | {
      readonly type: 'agent.delegation_ended'
      readonly id: string
      /** What the agent has called it. */
      readonly label: string
      readonly by: DelegationActor
      /** The owner did it themselves, in a session: they are not notified. */
      readonly isSilent: boolean
    }
  | {
      readonly type: 'agent.key_rotated'
      readonly newKey: Uint8Array
      /** What both keys have signed, and their signatures. */
      readonly rotation: KeyRotation
    }
  | {
      readonly type: 'agent.key_recovered'
      readonly newKey: Uint8Array
      readonly reason: string
      /** Of a key that a restored database does not have. `newKey` is its thumbprint. */
      readonly lost?: LostKey
    }
  | {
      readonly type: 'agent.key_contested'
      readonly lastGoodSequence: number
      readonly reason: string
      /** The last good key, if it comes back. */
      readonly newKey: Uint8Array | null
    }
  /** Also of a key that the agent had before. */
  | {
      readonly type: 'agent.key_compromised'
      readonly sequence: number
      readonly key: Uint8Array
      /** The owner is notified of another change of this transaction, which tells them. */
      readonly isSilent: boolean
    }
  | { readonly type: 'agent.key_recovery_started'; readonly reason: string }
  | {
      readonly type: 'agent.key_recovery_redeemed'
      /** The key that becomes current, and its number. */
      readonly newKey: Uint8Array
      readonly sequence: number
      /** Milliseconds since 1970. */
      readonly effectiveAt: number
    }
  /** `evidence`: the signature of the veto. */
  | { readonly type: 'agent.key_recovery_vetoed'; readonly evidence: JsonValue }
  | { readonly type: 'agent.key_recovery_cancelled'; readonly reason: string }
  /** The agent asks its owner to approve a request to the site `host`. Milliseconds since 1970. */
  | {
      readonly type: 'agent.approval_requested'
      readonly approval: string
      readonly host: string
      readonly method: string
      readonly expiresAt: number
    }
  /** The owner approved or denied it, or a mandate approved it, of whose total at least `percent` is used now. */
  | {
      readonly type: 'agent.approval_decided'
      readonly mandate?: { readonly id: string; readonly percent: 80 | 100 }
    }
  | { readonly type: 'channel.verified'; readonly channel: ChangedChannel }
  | ChannelLost<'channel.stale'>
  | ChannelLost<'channel.removed'>

/** A transfer of agents that takes effect. */
export interface Move {
  /** The id of the transfer. */
  readonly transfer: string
  /** How many agents it moves. */
  readonly agents: number
  /** Usernames. */
  readonly from: string
  readonly to: string
  readonly toOwner: number
  /** The membership of who accepted it; null: a person, for their own account. */
  readonly responsible: string | null
  /** The same person gives and takes: what they have proven stays proven. */
  readonly isSamePerson: boolean
}

/** Who may change the delegations of an agent. */
export type DelegationActor = 'agent' | 'owner'

/** What the log says of a key that the database has lost. */
export interface LostKey {
  readonly sequence: number
  readonly changedBy: KeyChange
}

/**
 * `spread`, over 15 minutes: agents of the owner have the same change at this moment. Entries of the log at the same time would
 * link them. `day`: over 24 hours, if nothing of the owner is to be left.
 */
export type LogDelay = 'none' | 'spread' | 'day'

/** Does not compile if a type of event has no change. */
export type ChangeType = AgentEventType

export interface StatusSet<Type> {
  readonly type: Type
  /** A machine-readable word, or null. */
  readonly reason: string | null
  readonly setBy: StatusActor
  /** One of many: the caller notifies the owner of all of them at once, and the public time of the change is a day. */
  readonly isBulk?: boolean
  /** `day`: it follows from the deletion of the owner's account. Default: `none`. */
  readonly delay?: LogDelay
  /** What the transparency log commits to besides the reason, such as a signature of the agent. */
  readonly evidence?: JsonValue
}

export type ChangedChannel = Pick<ChannelRow, 'id' | 'kind' | 'handle_or_domain' | 'tier'>

interface ChannelLost<Type> {
  readonly type: Type
  readonly channel: ChangedChannel
  readonly reason: string
  /** It did not count any more, or ends because the key was burned or replaced: the owner is not notified. */
  readonly isSilent: boolean
}

/** The columns of an agent that its events, entries and notifications tell of. */
export type Subject = Pick<
  AgentRow,
  | 'tail'
  | 'agent_id'
  | 'owner_id'
  | 'status'
  | 'grade'
  | 'public_key'
  | 'key_sequence'
  | 'key_thumbprint'
  | 'delegation_depth'
> &
  Partial<ProfileColumns>

/** A change with its agent before and after it. */
export interface AppliedChange<C extends Change = Change, Agent extends Subject = Subject> {
  readonly change: C
  readonly before: Agent
  readonly after: Agent
  /** The number of its event. */
  readonly seq: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The change with an event of this type. */
export type ChangeOf<Type extends ChangeType> = Extract<Change, { readonly type: Type }>

export interface LogEntryDraft {
  readonly change: AgentChange
  readonly by: LogActor
  /** What the entry commits to: whatever a later dispute needs. Only the owner can download it. */
  readonly evidence: JsonValue
}

/** What an owner is notified of. */
export interface NotificationDraft {
  readonly kind: NotificationKind
  /** What tells it from earlier ones of the kind. Default: the agent and the number of the event. */
  readonly subject?: string
  /** Besides the agent. */
  readonly details: NotificationDetails
}

/** What a kind of change leaves behind. */
export interface Rule<C extends Change = Change> {
  /** The event's payload: public data only. */
  payload(applied: AppliedChange<C>): Readonly<Record<string, JsonValue>>
  /** The entry of the transparency log. */
  log?(applied: AppliedChange<C>): LogEntryDraft | null
  notification?(applied: AppliedChange<C>): NotificationDraft | null
  /**
   * What becomes of the grade and of the status of the agent's certificates. `replace`: if the key was replaced.
   * `invalidate`: if the current key was burned. `delegation`: invalid if all delegations end. `owner`: always another one.
   */
  readonly statusEntry?: 'regrade' | 'replace' | 'invalidate' | 'delegation' | 'owner'
}

/** The profile's columns that events report, and their names there. All of it is public. */
const EVENT_FIELDS = {
  display_name: 'displayName',
  username: 'username',
  description: 'description',
  avatar: 'avatar',
} as const

/** The texts that a profile changes, by their names in events. */
export function changesOfProfile(
  before: Partial<ProfileColumns>,
  profile: Partial<ProfileColumns>,
): Record<string, string | null> {
  const changed: Record<string, string | null> = {}
  for (const column of Object.keys(EVENT_FIELDS) as (keyof typeof EVENT_FIELDS)[]) {
    const value = profile[column]
    if (value !== undefined && value !== before[column]) changed[EVENT_FIELDS[column]] = value
  }
  return changed
}
