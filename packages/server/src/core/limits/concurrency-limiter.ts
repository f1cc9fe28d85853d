import { CodedError } from '@countersign/protocol'

/** What is waited for in a room is a matter of milliseconds: whoever is turned away finds a place a second later. */
const RETRY_AFTER_SECONDS = 1

/** So many requests of one kind are worked on at once, and no more wait: the next is told to come back. */
export class Room {
  readonly #most: number
  readonly #whatFor: string
  inside = 0
  refused = 0

  /** @param whatFor what there is too much of, in the middle of a sentence */
  constructor(most: number, whatFor: string) {
    this.#most = most
    this.#whatFor = whatFor
  }

  /** @throws CodedError UNAVAILABLE where it is full */
  enter(): void {
    this.requireSpace()
    this.inside += 1
  }

  leave(): void {
    this.inside -= 1
  }

  /** @throws CodedError UNAVAILABLE where it is full, for those who need not read on */
  requireSpace(): void {
    if (this.inside < this.#most) return
    this.refused += 1
    throw new CodedError(
      'UNAVAILABLE',
      `Too many ${this.#whatFor} at once. Nothing was done: try again in a second.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    )
  }
}
