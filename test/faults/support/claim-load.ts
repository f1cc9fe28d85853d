import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, postClaim } from '../../support/many-claims.ts'
import type { ClaimBody } from '../../support/service.ts'

export interface LoadOptions {
  readonly inFlight: number
  /** A claim that got 503 or no answer is sent again after so many milliseconds; null: it is given up. */
  readonly againAfter: number | null
  /** How long each caller waits after an answer, in milliseconds; not at all by default. */
  readonly pace?: number
  /** Called with each acknowledgement, by which a test chooses the moment of its fault. */
  readonly onAcknowledged?: (acknowledged: number, did: string) => void
  /** Ends the load: nothing more is sent, what is on its way is waited for. */
  readonly until?: AbortSignal
}

/** What callers have been told, and what they have not. */
export interface Tally {
  /** The DID that each was answered with. */
  readonly acknowledged: Map<ClaimBody, string>
  /** Those whose token was gone when they were sent again: the answer to the time before was lost. */
  readonly doneUnheard: Set<ClaimBody>
  /** `503 UNAVAILABLE`, `no answer`: how often. */
  readonly failures: Map<string, number>
  /** From the request to its acknowledgement, in milliseconds. */
  readonly times: number[]
  /** The longest time without an acknowledgement, in milliseconds. */
  readonly longestGap: number
}

/**
 * Sends claims, so many at a time, and keeps count of the answers.
 * @param urlOf where the service is at the moment, without a path
 * @returns once each claim was acknowledged, refused for good or given up
 */
export async function claimAll(
  urlOf: () => string,
  claims: readonly ClaimBody[],
  options: LoadOptions,
): Promise<Tally> {
  const load = new ClaimLoad(urlOf, claims, options)
  await load.run()
  return load
}

class ClaimLoad implements Tally {
  readonly acknowledged = new Map<ClaimBody, string>()
  readonly doneUnheard = new Set<ClaimBody>()
  readonly failures = new Map<string, number>()
  readonly times: number[] = []
  longestGap = 0
  readonly #urlOf: () => string
  readonly #queue: ClaimBody[]
  readonly #sentBefore = new Set<ClaimBody>()
  readonly #options: LoadOptions
  readonly #agent: Agent
  #lastAt = performance.now()

  constructor(urlOf: () => string, claims: readonly ClaimBody[], options: LoadOptions) {
    this.#urlOf = urlOf
    this.#queue = claims.toReversed()
    this.#options = options
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.inFlight })
  }

  async run(): Promise<void> {
    const caller = async () => {
      for (let claim = this.#next(); claim !== undefined; claim = this.#next()) {
        await this.#send(claim)
        if (this.#options.pace !== undefined) await sleep(this.#options.pace)
      }
    }
    await Promise.all(Array.from({ length: this.#options.inFlight }, caller))
    this.#agent.destroy()
  }

  #next(): ClaimBody | undefined {
    return this.#options.until?.aborted ? undefined : this.#queue.pop()
  }

  async #send(claim: ClaimBody): Promise<void> {
    const began = performance.now()
    const answer = await postClaim(`${this.#urlOf()}/api/v1/claim`, claim, this.#agent)
    if (answer?.status === 200) return this.#acknowledge(claim, answer, began)
    if (answer?.status === 410 && this.#sentBefore.has(claim)) {
      this.doneUnheard.add(claim)
      return
    }
    const what = failureOf(answer)
    this.failures.set(what, (this.failures.get(what) ?? 0) + 1)
    const { againAfter } = this.#options
    if (againAfter === null || !(answer === null || answer.status === 503)) return
    this.#sentBefore.add(claim)
    await sleep(againAfter)
    this.#queue.push(claim)
  }

  #acknowledge(claim: ClaimBody, answer: Answer, began: number): void {
    const now = performance.now()
    const did = answer.body.svcDid as string
    this.acknowledged.set(claim, did)
    this.times.push(now - began)
    this.longestGap = Math.max(this.longestGap, now - this.#lastAt)
    this.#lastAt = now
    this.#options.onAcknowledged?.(this.acknowledged.size, did)
  }
}

function failureOf(answer: Answer | null): string {
  if (answer === null) return 'no answer'
  const { error } = answer.body as { error?: { code?: string } }
  return `${answer.status} ${error?.code ?? 'without a code'}`
}

/** `503 UNAVAILABLE 12 times, no answer 3 times`. */
export function failuresOf({ failures }: Pick<Tally, 'failures'>): string {
  if (failures.size === 0) return 'none'
  return [...failures].map(([what, count]) => `${what} ${count} times`).join(', ')
}
