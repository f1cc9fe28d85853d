import { Agent } from 'node:http'
import { type HttpRequest, sendRequest } from './http-exchange.ts'
import { claimAgent, type OwnerHeaders, revokeRequest, sendExpecting } from './owner-client.ts'
import { type RequestSamples, requestsFor } from './request-samples.ts'
import { SCENARIOS } from './scenarios.ts'
import { quantile } from './statistics.ts'

/** Requests per second of each kind: a moderate rate, so that other work can run beside it. */
const PER_SECOND = { lookup: 100, verify: 20, card: 20, claim: 2, revocation: 1 } as const

export type SoakKind = keyof typeof PER_SECOND

/** The results for one kind of request. */
export interface RequestStats {
  readonly count: number
  readonly errors: number
  /** In milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

const MAX_IN_FLIGHT = 256

/** A steady mixed load. Requests that are due while too many are in flight are skipped and counted. */
export class SoakLoad {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 })
  readonly #asks: Readonly<Record<'lookup' | 'verify' | 'card', readonly HttpRequest[]>>
  readonly #owners: OwnerHeaders[]
  readonly #claimed: { readonly did: string; readonly owner: OwnerHeaders }[] = []
  readonly #times = new Map<SoakKind, number[]>()
  readonly #errors = new Map<SoakKind, number>()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #running = new Set<Promise<void>>()
  claims = 0
  leftOut = 0
  firstError: string | null = null

  /** @param owners the owners that claim and revoke; each makes one claim at a time */
  constructor(port: number, requestSamples: RequestSamples, owners: readonly OwnerHeaders[]) {
    this.#port = port
    this.#owners = [...owners]
    this.#asks = {
      lookup: requestsFor(SCENARIOS.lookup, requestSamples),
      verify: requestsFor(SCENARIOS.verify, requestSamples),
      card: requestsFor(SCENARIOS.card, requestSamples),
    }
  }

  start(): void {
    for (const [kind, rate] of Object.entries(PER_SECOND) as [SoakKind, number][]) {
      let number = 0
      this.#timers.push(setInterval(() => this.#due(kind, number++), 1000 / rate))
    }
  }

  /** Resolves when all requests are answered. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#running)
    this.#agent.destroy()
  }

  get asked(): Record<SoakKind, RequestStats> {
    const kinds = Object.keys(PER_SECOND) as SoakKind[]
    const entries = kinds.map((kind): [SoakKind, RequestStats] => {
      const times = this.#times.get(kind) ?? []
      const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => quantile(times, share))
      const errors = this.#errors.get(kind) ?? 0
      return [kind, { count: times.length, errors, p50, p99, longest } as RequestStats]
    })
    return Object.fromEntries(entries) as Record<SoakKind, RequestStats>
  }

  #due(kind: SoakKind, number: number): void {
    if (this.#running.size >= MAX_IN_FLIGHT) {
      this.leftOut += 1
      return
    }
    const running = this.#timed(kind, number).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #timed(kind: SoakKind, number: number): Promise<void> {
    const started = performance.now()
    try {
      await this.#do(kind, number)
      const times = this.#times.get(kind)
      if (times === undefined) this.#times.set(kind, [performance.now() - started])
      else times.push(performance.now() - started)
    } catch (error) {
      this.#errors.set(kind, (this.#errors.get(kind) ?? 0) + 1)
      this.firstError ??= `${kind}: ${(error as Error).message}`
    }
  }

  async #do(kind: SoakKind, number: number): Promise<void> {
    if (kind === 'claim') return this.#claim(number)
    if (kind === 'revocation') return this.#revoke()
    const asks = this.#asks[kind]
    await sendExpecting(this.#port, asks[number % asks.length] as HttpRequest, 200, this.#agent)
  }

  async #claim(number: number): Promise<void> {
    const owner = this.#owners.shift()
    if (owner === undefined) throw new Error('every owner is at a claim still')
    try {
      const did = await claimAgent(this.#port, owner, `soak ${number}`, this.#agent)
      this.#claimed.push({ did, owner })
      this.claims += 1
    } finally {
      this.#owners.push(owner)
    }
  }

  /** Revokes an agent that was claimed here, and checks that it is refused right after the response. */
  async #revoke(): Promise<void> {
    const claimed = this.#claimed.shift()
    if (claimed === undefined) return
    const { did, owner } = claimed
    await sendExpecting(this.#port, revokeRequest(owner, did), 200, this.#agent)
    const lookup: HttpRequest = { method: 'GET', path: `/api/v1/agent/${did}` }
    const { status, body } = await sendRequest(this.#port, lookup, this.#agent)
    const said = status === 200 ? JSON.parse(`${body}`).certificate.status : status
    if (said !== 'revoked') throw new Error(`${did} was revoked, and is said to be ${said}`)
  }
}
