import { toCodedError } from '../errors.ts'

/** Counts how often work ended with which outcome. */
export class OutcomeCounter {
  readonly #counts: Map<string, number>

  /** @param known outcomes that start at 0: Prometheus does not see an increase in a series that first appears with 1 */
  constructor(known: readonly string[]) {
    this.#counts = new Map(known.map((name) => [name, 0]))
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /**
   * Counts how work ends. An error counts under its code in lower case.
   * @param nameOf the outcome of work that succeeds
   * @returns the result of the work; rejects with its error
   */
  async count<T>(work: Promise<T>, nameOf: (value: T) => string): Promise<T> {
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
