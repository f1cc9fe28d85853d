import { toCodedError } from '../errors.ts'

/** How often something ended how. */
export class Outcomes {
  readonly #counts: Map<string, number>

  /** @param known what is shown as 0 before it first happens: an increase from nothing is none to Prometheus */
  constructor(known: readonly string[]) {
    this.#counts = new Map(known.map((name) => [name, 0]))
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /**
   * Counts how work ends: a refusal under its code, in lower case.
   * @param nameOf what an end without a refusal is called
   * @returns what the work returns, or throws
   */
  async of<T>(work: Promise<T>, nameOf: (value: T) => string): Promise<T> {
    try {
      const value = await work
      this.add(nameOf(value))
      return value
    } catch (error) {
      this.add(toCodedError(error).code.toLowerCase())
      throw error
    }
  }

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
  }
}
