import { useEffect, useRef, useState } from 'react'
import { didIn } from '../../agents/did.ts'
import { newestAgents } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'

const POLL_MS = 4000

/**
 * Waits for the claim that a token was made for: told by the service as it happens, asked for while it cannot tell.
 * @param since when the token was made, by the service's clock, in milliseconds since 1970; null: nothing is waited for
 * @returns the DID of the agent that has come; null until then
 */
export function useClaimLanded(since: number | null): string | null {
  const { shortName } = useService()
  const [landed, setLanded] = useState<{ since: number; did: string } | null>(null)
  // An agent that came by an earlier token is not waited for again.
  const earlier = useRef(new Set<string>())

  useEffect(() => {
    if (since === null) return
    const arrived = (did: string | null) => {
      if (did === null || earlier.current.has(did)) return
      earlier.current.add(did)
      setLanded({ since, did })
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

  return landed !== null && landed.since === since ? landed.did : null
}

/** @returns how to stop */
function watch(
  arrived: (did: string | null) => void,
  look: (signal: AbortSignal) => Promise<string | null>,
  shortName: string,
): () => void {
  const ended = new AbortController()
  const source = new EventSource('/api/account/stream')
  let polling: ReturnType<typeof setInterval> | undefined

  // A failure is no news: the next look, or the stream, tells.
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
    // It may have come before the stream did.
    lookNow()
  }
  // The browser connects again by itself, unless the service has refused; until it has, the list is asked for.
  source.onerror = () => {
    polling ??= setInterval(lookNow, POLL_MS)
  }

  return () => {
    ended.abort()
    source.close()
    stopPolling()
  }
}
