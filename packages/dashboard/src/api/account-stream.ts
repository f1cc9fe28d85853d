import { forOwner } from './acting-for.ts'

const EVENT_TYPES = [
  'agent.updated',
  'agent.suspended',
  'agent.reactivated',
  'agent.revoked',
  'agent.renounced',
  'agent.grade_changed',
  'agent.delegation_changed',
  'agent.delegation_created',
  'agent.delegation_ended',
  'agent.key_rotated',
  'agent.key_contested',
  'agent.key_compromised',
  'agent.key_recovery_started',
  'agent.key_recovery_redeemed',
  'agent.key_recovery_vetoed',
  'agent.key_recovery_cancelled',
  'agent.key_recovered',
  'agent.approval_requested',
  'agent.approval_decided',
  'channel.verified',
  'channel.stale',
  'channel.removed',
] as const

interface Follower {
  readonly onEvent: (type: string, data: object) => void
  /** Called after a reconnect, because events may have been missed. */
  readonly onInterrupted: () => void
}

/** They share one connection: browsers allow few per host for all tabs together. Hidden pages close theirs, and refetch once visible. */
const followers = new Set<Follower>()
let source: EventSource | null = null

/** Follows the events of the owner's agents while the page is visible. @returns a function that stops following */
export function followAccount(follower: Follower): () => void {
  followers.add(follower)
  update()
  document.addEventListener('visibilitychange', update)
  return () => {
    followers.delete(follower)
    update()
    if (followers.size === 0) document.removeEventListener('visibilitychange', update)
  }
}

function update(): void {
  if (followers.size === 0 || document.visibilityState === 'hidden') {
    source?.close()
    source = null
  } else source ??= open()
}

function open(): EventSource {
  let opened = false
  const stream = new EventSource(forOwner('/api/account/stream'))
  stream.onopen = () => {
    if (opened) for (const { onInterrupted } of followers) onInterrupted()
    opened = true
  }
  for (const type of EVENT_TYPES) {
    stream.addEventListener(type, ({ data }) => {
      for (const { onEvent } of followers) onEvent(type, JSON.parse(data))
    })
  }
  return stream
}
