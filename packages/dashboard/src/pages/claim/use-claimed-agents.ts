import { useEffect, useState } from 'react'
import { didIn } from '../../agents/did.ts'
import { newestAgents } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'
import { forOwner } from '../../api/acting-for.ts'

const POLL_MS = 4000

/**
 * Waits for agents that redeem the tokens, by the event stream and by polling while that is disconnected.
 * @param since when the tokens were created by the service's clock, in Unix milliseconds; null: not waiting
 * @returns the DIDs of the agents that were claimed since then
 */
export function useClaimedAgents(since: number | null): readonly string[] {
  const { shortName } = useService()
  const [claimed, setClaimed] = useState<{ since: number | null; dids: readonly string[] }>({
    since: null,
    dids: [],
  })

  useEffect(() => {
    if (since === null) return
    // Ignores agents that were claimed with an earlier token in the same millisecond.
    const add = (found: readonly string[]) =>
      setClaimed((before) => {
        const known = before.since === since ? before.dids : []
        const earlier = before.since === since ? [] : before.dids
        const dids = new Set([...known, ...found.filter((did) => !earlier.includes(did))])
        return dids.size === before.dids.length && before.since === since
          ? before
          : { since, dids: [...dids] }
      })
    return watch(
      add,
      async (signal) => {
        const { agents } = await newestAgents(signal)
        const newest = agents.filter((each) => Date.parse(each.claimedAt) >= since)
        return newest.flatMap((each) => didIn(shortName, each) ?? [])
      },
      shortName,
    )
  }, [since, shortName])

  return claimed.since === since ? claimed.dids : []
}

/** @returns a function that stops watching */
function watch(
  add: (dids: readonly string[]) => void,
  look: (signal: AbortSignal) => Promise<readonly string[]>,
  shortName: string,
): () => void {
  const ended = new AbortController()
  const source = new EventSource(forOwner('/api/account/stream'))
  let polling: ReturnType<typeof setInterval> | undefined

  // The next poll or the event stream will report it.
  const lookNow = () => void look(ended.signal).then(add, () => {})
  const stopPolling = () => {
    clearInterval(polling)
    polling = undefined
  }

  source.addEventListener('agent.claimed', ({ data }) => {
    const did = didIn(shortName, JSON.parse(data))
    if (did !== null) add([did])
  })
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
