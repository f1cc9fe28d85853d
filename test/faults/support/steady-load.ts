import type { ClaimBody } from '../../support/service.ts'
import { claimAll, type Tally } from './claim-load.ts'
import { type LookupTally, lookUpClaims } from './lookup-load.ts'

const CLAIMING = { inFlight: 16, pace: 100, againAfter: null } as const
const LOOKING_UP = { inFlight: 8, pace: 5 } as const
/** Agents are looked up only after this delay, when every node knows them. */
const KNOWN_AFTER_MS = 1000

export interface SteadyLoad {
  /** The number of acknowledged claims. */
  readonly acknowledged: number
  /** Resolves when this many claims are acknowledged, or no more will come. */
  reached(acknowledged: number): Promise<void>
  /**
   * Stops sending.
   * @returns the answers that callers got, once all requests in flight have ended
   */
  end(): Promise<{ readonly claims: Tally; readonly lookups: LookupTally }>
}

/** Claims, and lookups of claimed agents, at a moderate rate. Nothing is sent again. */
export function startSteadyLoad(url: string, claims: readonly ClaimBody[]): SteadyLoad {
  const claimed: { readonly did: string; readonly at: number }[] = []
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const over = new AbortController()
  const onAcknowledged = (count: number, did: string) => {
    claimed.push({ did, at: performance.now() })
    for (const each of waiting) if (count >= each.count) each.resolve()
  }
  const claiming = claimAll(() => url, claims, { ...CLAIMING, onAcknowledged, until: over.signal })
  const known = () => {
    const before = performance.now() - KNOWN_AFTER_MS
    const count = claimed.findLastIndex(({ at }) => at < before) + 1
    return claimed[Math.floor(Math.random() * count)]?.did ?? null
  }
  const looking = lookUpClaims(url, known, { ...LOOKING_UP, until: over.signal })
  return {
    get acknowledged() {
      return claimed.length
    },
    reached: (count) =>
      Promise.race([
        new Promise<void>((resolve) => waiting.push({ count, resolve })),
        claiming.then(() => undefined),
      ]),
    async end() {
      over.abort()
      return { claims: await claiming, lookups: await looking }
    },
  }
}
