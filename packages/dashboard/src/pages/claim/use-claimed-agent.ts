import { useEffect, useRef, useState } from 'react'
import { didIn } from '../../agents/did.ts'
import { newestAgents } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'

const POLL_MS = 4000

/**
 * Waits until an agent redeems the token, by the event stream and by polling while that is disconnected.
 * @param since when the token was created by the service's clock, in Unix milliseconds; null to stop waiting
 * @returns the DID of the new agent, or null
 */
export function useClaimedAgent(since: number | null): string | null {
  const { shortName } = useService()
  const [claimed, setClaimed] = useState<{ since: number; did: string } | null>(null)
  // Ignores agents that were claimed with an earlier token.
  const earlier = useRef(new Set<string>())

  useEffect(() => {
    if (since === null) return
    const arrived = (did: string | null) => {
      if (did === null || earlier.current.has(did)) return
      earlier.current.add(did)
      setClaimed({ since, did })
    }
    return watch(
      arrived,
      async (signal) => {
        const { agents } = await newestAgents(signal)
        const newest = agents.find((each) => Date.parse(each.claimedAt) >= since)
        return newest ? didIn(shortName, newest) : null
      },
      shortName,
    )
  }, [since, shortName])

  return claimed !== null && claimed.since === since ? claimed.did : null
}

/** @returns a function that stops watching */
function watch(
  arrived: (did: string | null) => void,
  look: (signal: AbortSignal) => Promise<string | null>,
  shortName: string,
): () => void {
  const ended = new AbortController()
  const source = new EventSource('/api/account/stream')
  let polling: ReturnType<typeof setInterval> | undefined

  // The next poll or the event stream will report it.
  const lookNow = () => void look(ended.signal).then(arrived, () => {})
  const stopPolling = () => {
    clearInterval(polling)
    polling = undefined
  }

  source.addEventListener('agent.claimed', ({ data }) =>
    arrived(didIn(shortName, JSON.parse(data))),
  )
  source.onopen = () => {
    stopPolling()
    // The claim may have happened before the stream was connected.
    lookNow()
  }
  // The browser reconnects automatically unless the service refused the connection. Until then, poll.
  source.onerror = () => {
    polling ??= setInterval(lookNow, POLL_MS)
  }

  return () => {
    ended.abort()
    source.close()
    stopPolling()
  }
}
