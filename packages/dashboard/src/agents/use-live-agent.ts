import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { forOwner } from '../api/acting-for.ts'
import { sessionQuery } from '../api/queries.ts'
import { didIn } from './did.ts'
import { AGENTS_KEY } from './queries.ts'
import { useService } from './use-service.ts'

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
  'channel.verified',
  'channel.stale',
  'channel.removed',
]

/** Refreshes the agent whenever the service reports a change of it. */
export function useLiveAgent(did: string): void {
  const queries = useQueryClient()
  const { shortName } = useService()

  useEffect(() => {
    const refresh = () => {
      void queries.invalidateQueries({ queryKey: AGENTS_KEY })
      void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    }
    return followWhileVisible((data) => didIn(shortName, data) === did && refresh(), refresh)
  }, [queries, shortName, did])
}

/**
 * Follows the event stream while the page is visible. Browsers allow few connections per host for all tabs together,
 * so hidden pages close theirs and refetch when they become visible.
 * @param onInterrupted called after a reconnect, because events may have been missed
 * @returns a function that stops following
 */
function followWhileVisible(
  onEvent: (data: object) => void,
  onInterrupted: () => void,
): () => void {
  let source: EventSource | null = null

  function open(): void {
    let opened = false
    source = new EventSource(forOwner('/api/account/stream'))
    source.onopen = () => {
      if (opened) onInterrupted()
      opened = true
    }
    for (const type of EVENT_TYPES) {
      source.addEventListener(type, ({ data }) => onEvent(JSON.parse(data)))
    }
  }
  function close(): void {
    source?.close()
    source = null
  }
  function update(): void {
    if (document.visibilityState === 'hidden') close()
    else if (source === null) open()
  }

  update()
  document.addEventListener('visibilitychange', update)
  return () => {
    document.removeEventListener('visibilitychange', update)
    close()
  }
}
