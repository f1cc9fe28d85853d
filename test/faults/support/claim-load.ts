import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, postClaim } from '../../support/many-claims.ts'
import type { ClaimBody } from '../../support/service.ts'

export interface LoadOptions {
  readonly inFlight: number
  /**
   * The delay in milliseconds before a claim without success (503 or no answer) is sent again; null to give it up.
   */
  readonly againAfter: number | null
  /** The delay of each caller after an answer, in milliseconds. Default: none. */
  readonly pace?: number
  /** Called with each acknowledgement, so that a test can time its fault. */
  readonly onAcknowledged?: (acknowledged: number, did: string) => void
  /** Stops sending and waits for the requests in flight. */
  readonly until?: AbortSignal
}

/** The answers that callers got, and the claims without an answer. */
export interface Tally {
  /** The DID in the answer. */
  readonly acknowledged: Map<ClaimBody, string>
  /** Claims whose token was already used when they were sent again, because the previous answer was lost. */
  readonly doneUnheard: Set<ClaimBody>
  /** Counts by kind: `503 UNAVAILABLE`, `no answer`. */
  readonly failures: Map<string, number>
  /** Milliseconds from the request to its acknowledgement. */
  readonly times: number[]
  /** The longest time without an acknowledgement, in milliseconds. */
  readonly longestGap: number
}

/**
 * Sends claims with limited concurrency and counts the answers.
 * @param urlOf the current base URL of the service
 * @returns when each claim was acknowledged, finally refused or given up
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
export function formatFailures({ failures }: Pick<Tally, 'failures'>): string {
  if (failures.size === 0) return 'none'
  return [...failures].map(([what, count]) => `${what} ${count} times`).join(', ')
}
