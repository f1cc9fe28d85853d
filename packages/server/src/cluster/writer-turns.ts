/** How long a turn may last: up to 5 seconds of it are a wait for a command of the operator that writes. */
const LONGEST_MS = 10_000
/** Messages that have come while the primary itself was held up are read before a worker is blamed. */
const GRACE_MS = 500

/** What becomes of turns. */
interface Handlers<W> {
  readonly grant: (worker: W) => void
  /** It has had its turn for too long: the others wait, until it is forgotten. */
  readonly overdue: (worker: W) => void
}

/** Whose turn it is to write, of the processes that share a file: first come, first served. */
export class WriterTurns<W> {
  readonly #handlers: Handlers<W>
  #holder: W | null = null
  #waiting: W[] = []
  #deadline: NodeJS.Timeout | undefined

  constructor(handlers: Handlers<W>) {
    this.#handlers = handlers
  }

  ask(worker: W): void {
    this.#waiting.push(worker)
    if (this.#holder === null) this.#next()
  }

  /** The worker gives its turn back; nothing happens where it has none. */
  end(worker: W): void {
    if (this.#holder !== worker) return
    clearTimeout(this.#deadline)
    this.#holder = null
    this.#next()
  }

  /** The worker is no more, and its locks are gone with it. */
  forget(worker: W): void {
    this.#waiting = this.#waiting.filter((each) => each !== worker)
    this.end(worker)
  }

  #next(): void {
    const worker = this.#waiting.shift()
    if (worker === undefined) return
    this.#holder = worker
    this.#deadline = setTimeout(() => {
      this.#deadline = setTimeout(() => this.#handlers.overdue(worker), GRACE_MS)
    }, LONGEST_MS)
    this.#handlers.grant(worker)
  }
}
