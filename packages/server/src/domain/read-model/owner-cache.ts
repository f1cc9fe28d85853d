import type { OwnerFacts } from '../agent-record.ts'

/** Owners in memory, by number. Past the limit the one that was entered first makes room. */
export class OwnerCache {
  readonly #limit: number
  /** Indexed by the owners' numbers, which are given out in order: found in one step, unlike in a Map. */
  readonly #owners: (OwnerFacts | undefined)[] = []
  readonly #entered: number[] = []
  #oldest = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get(id: number): OwnerFacts | undefined {
    return this.#owners[id]
  }

  set(owner: OwnerFacts): void {
    const known = this.#owners[owner.id] !== undefined
    while (this.#owners.length < owner.id) this.#owners.push(undefined)
    this.#owners[owner.id] = owner
    if (!known) this.#enter(owner.id)
  }

  /** The order of entry is a ring of `limit` numbers. */
  #enter(id: number): void {
    if (this.#entered.length < this.#limit) {
      this.#entered.push(id)
      return
    }
    this.#owners[this.#entered[this.#oldest] as number] = undefined
    this.#entered[this.#oldest] = id
    this.#oldest = (this.#oldest + 1) % this.#limit
  }
}
