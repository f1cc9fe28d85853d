/** Calls a function unless it is reset in time. */
export class Watchdog {
  readonly #ms: number
  readonly #onIdle: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(ms: number, onIdle: () => void) {
    this.#ms = ms
    this.#onIdle = onIdle
    this.#timer = setTimeout(onIdle, ms)
  }

  reset(): void {
    this.stop()
    this.#timer = setTimeout(this.#onIdle, this.#ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

/** Calls a function at an interval. Does not keep the process alive. */
export function every(ms: number, work: () => unknown) {
  const timer = setInterval(work, ms)
  unref(timer)
  return timer
}

/** Ends early if it is aborted. Does not keep the process alive. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    unref(timer)
    signal.addEventListener('abort', end, { once: true })
  })
}

function unref(timer: unknown): void {
  ;(timer as { unref?: () => void }).unref?.()
}
