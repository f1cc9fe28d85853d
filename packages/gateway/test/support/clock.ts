/** A clock that goes forward when it is told to. In milliseconds. */
export class Clock {
  #now = 1_000_000

  readonly now = () => this.#now

  pass(ms: number): void {
    this.#now += ms
  }
}
