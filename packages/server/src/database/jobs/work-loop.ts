export interface WorkLoopOptions {
  /** Looks for due work and does it, or starts it with `start`. `stopping` aborts when the loop stops. */
  readonly poll: (stopping: AbortSignal) => Promise<void>
  /** How many items started with `start` may be in progress at once. */
  readonly concurrency?: number
  /** Called with the error of a failed poll. The next call of `run` polls again. */
  readonly onError: (error: unknown) => void
}

/** Runs due work: one poll at a time, items in progress up to a limit, and a stop that waits for all of it. */
export class WorkLoop {
  readonly #options: WorkLoopOptions
  readonly #stopping = new AbortController()
  readonly #inProgress = new Map<string, { readonly abort: () => void; done: Promise<void> }>()
  #poll: Promise<void> | null = null

  constructor(options: WorkLoopOptions) {
    this.#options = options
  }

  /** Polls, unless a poll is in progress. Never rejects. @returns a promise that resolves when that poll is done */
  run(): Promise<void> {
    if (this.#stopping.signal.aborted) return this.#poll ?? Promise.resolve()
    const { poll, onError } = this.#options
    this.#poll ??= poll(this.#stopping.signal)
      .catch(onError)
      .finally(() => {
        this.#poll = null
      })
    return this.#poll
  }

  /** Whether no further item can be started: all slots are taken, or the loop is stopping. */
  get isFull(): boolean {
    return (
      this.#stopping.signal.aborted || this.#inProgress.size >= (this.#options.concurrency ?? 1)
    )
  }

  /**
   * Starts an item without waiting for it; does nothing if it is in progress already, or the loop is full.
   * @param id identifies the item
   * @param work must not reject; resolves to whether to poll again at once
   */
  start(id: string, work: (stopping: AbortSignal) => Promise<boolean>): void {
    if (this.isFull || this.#inProgress.has(id)) return
    // One signal for each item: work that adds listeners to a signal as old as the process would leak them.
    const controller = new AbortController()
    const done = work(controller.signal).then((pollAgain) => {
      this.#inProgress.delete(id)
      if (pollAgain) void this.run()
    })
    this.#inProgress.set(id, { abort: () => controller.abort(), done })
  }

  /** Starts nothing more, aborts the items in progress, and resolves when they and the poll have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const inProgress = [...this.#inProgress.values()]
    for (const { abort } of inProgress) abort()
    await this.#poll
    await Promise.all(inProgress.map(({ done }) => done))
  }
}
