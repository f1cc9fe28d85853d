import { setTimeout as sleep } from 'node:timers/promises'
import type { Cleanup } from '../../support/service.ts'
import { statusAt } from './ask.ts'
import type { RevocationMade } from './owner-load.ts'

/** This many of the last revocations are polled continuously, and a sample of the others. */
const LATEST = 8

/** Polls revoked agents at every node and records which are still reported as active. */
export class RevocationWatch {
  lookups = 0
  /** The latest start of a lookup that still answered `active`, in milliseconds after the revocation. */
  latest = 0
  /** Lookups that answered `active` although they started later than the bound after the revocation. */
  readonly vouchedFor: string[] = []
  readonly #revocations: readonly RevocationMade[]
  readonly #boundMs: number
  readonly #running: Promise<void>
  #stopping = false

  /**
   * @param t the test, at whose end the polling stops
   * @param revocations a list that grows
   */
  constructor(
    t: Cleanup,
    nodes: readonly { readonly url: string }[],
    revocations: readonly RevocationMade[],
    boundMs: number,
  ) {
    this.#revocations = revocations
    this.#boundMs = boundMs
    t.after(() => this.stop())
    this.#running = Promise.all(nodes.map(({ url }) => this.#look(url))).then(() => undefined)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#running
  }

  async #look(node: string): Promise<void> {
    for (let round = 0; !this.#stopping; round++) {
      const revocation = this.#pick(round)
      if (revocation !== undefined) await this.#lookAt(node, revocation)
      await sleep(2)
    }
  }

  #pick(round: number): RevocationMade | undefined {
    const all = this.#revocations
    if (round % 4 === 0) return all[Math.floor(Math.random() * all.length)]
    return all.at(-1 - (round % LATEST)) ?? all.at(-1)
  }

  async #lookAt(node: string, { did, told, at }: RevocationMade): Promise<void> {
    if (told !== 'done' && told !== 'done before') return
    const late = performance.now() - at
    const says = await statusAt(node, did)
    this.lookups += 1
    if (says !== 'active') return
    this.latest = Math.max(this.latest, late)
    if (late > this.#boundMs)
      this.vouchedFor.push(`${did} at ${node}, ${Math.round(late)} ms later`)
  }
}
