import type { ClaimBody } from '../../support/service.ts'
import { claimAll, type Tally } from './claim-load.ts'
import { type LookupTally, lookUpAll } from './lookup-load.ts'

const CLAIMING = { inFlight: 16, pace: 100, againAfter: null } as const
const LOOKING_UP = { inFlight: 8, pace: 5 } as const
/** A moment after its claim every node knows an agent: only then it is asked for. */
const KNOWN_AFTER_MS = 1000

export interface SteadyLoad {
  /** How many claims have been acknowledged. */
  readonly acknowledged: number
  /** Resolves once so many claims have been acknowledged; also where no more are to come. */
  reached(acknowledged: number): Promise<void>
  /** Sends nothing more. @returns what callers were told, once what is on its way has ended somehow */
  end(): Promise<{ readonly claims: Tally; readonly lookups: LookupTally }>
}

/** Claims and lookups of what has been claimed, at a pace that a service bears easily; nothing is sent again. */
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
  const looking = lookUpAll(url, known, { ...LOOKING_UP, until: over.signal })
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
