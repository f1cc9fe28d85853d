/** How long an answer is good for, and how long one is waited for. */
const GOOD_FOR_MS = 1000
const PATIENCE_MS = 800

/** Something that is asked for at most once a second, however many want to know, and keeps none of them waiting. */
export class Watched<T> {
  readonly #ask: () => Promise<T>
  readonly #unknown: T
  #asked: { readonly at: number; readonly answer: Promise<T> } | null = null

  /** @param unknown in the place of an answer that does not come in time, or not at all */
  constructor(ask: () => Promise<T>, unknown: T) {
    this.#ask = ask
    this.#unknown = unknown
  }

  get(): Promise<T> {
    const now = performance.now()
    if (this.#asked === null || now - this.#asked.at > GOOD_FOR_MS)
      this.#asked = { at: now, answer: this.#inTime(this.#ask()) }
    return this.#asked.answer
  }

  #inTime(asked: Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(this.#unknown), PATIENCE_MS)
      const settle = (answer: T) => {
        clearTimeout(timer)
        resolve(answer)
      }
      asked.then(settle, () => settle(this.#unknown))
    })
  }
}
