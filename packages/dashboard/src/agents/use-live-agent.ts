import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { sessionQuery } from '../api/session.ts'
import { didIn } from './did.ts'
import { AGENTS_KEY } from './queries.ts'
import { useService } from './use-service.ts'

const TOLD = [
  'agent.updated',
  'agent.suspended',
  'agent.reactivated',
  'agent.revoked',
  'agent.grade_changed',
  'channel.verified',
  'channel.stale',
  'channel.removed',
]

/** Keeps what a page shows of an agent true, whoever changes it. */
export function useLiveAgent(did: string): void {
  const queries = useQueryClient()
  const { shortName } = useService()

  useEffect(() => {
    const refresh = () => {
      void queries.invalidateQueries({ queryKey: AGENTS_KEY })
      void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    }
    return followWhileSeen((data) => didIn(shortName, data) === did && refresh(), refresh)
  }, [queries, shortName, did])
}

/**
 * A browser has few connections to a host, for all of its pages: only those that are looked at hold one. What was missed
 * meanwhile is asked for when a page is looked at again, as every query is.
 * @param missed the stream was interrupted: something may have happened that it did not tell
 * @returns how to stop
 */
function followWhileSeen(told: (data: object) => void, missed: () => void): () => void {
  let source: EventSource | null = null

  function open(): void {
    let opened = false
    source = new EventSource('/api/account/stream')
    source.onopen = () => {
      if (opened) missed()
      opened = true
    }
    for (const type of TOLD) {
      source.addEventListener(type, ({ data }) => told(JSON.parse(data)))
    }
  }
  function close(): void {
    source?.close()
    source = null
  }
  function look(): void {
    if (document.visibilityState === 'hidden') close()
    else if (source === null) open()
  }

  look()
  document.addEventListener('visibilitychange', look)
  return () => {
    document.removeEventListener('visibilitychange', look)
    close()
  }
}
