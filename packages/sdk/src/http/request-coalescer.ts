import { abortedBy } from './retry.ts'

interface InFlight<T> {
  readonly response: Promise<T>
  readonly controller: AbortController
  callers: number
}

/**
 * Sends one request for all callers that ask for the same thing while it is in flight. A caller that aborts does not
 * affect the others; the request itself is aborted once no caller is left.
 */
export class RequestCoalescer {
  readonly #inFlight = new Map<string, InFlight<unknown>>()

  /** @param key identifies the request; all responses of one key have one type */
  async request<T>(
    key: string,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (signal?.aborted) throw abortedBy(signal)
    const shared = (this.#inFlight.get(key) as InFlight<T> | undefined) ?? this.#start(key, send)
    shared.callers += 1
    try {
      const { response } = shared
      return signal === undefined ? await response : await unlessAborted(response, signal)
    } finally {
      shared.callers -= 1
      if (shared.callers === 0) this.#abort(key, shared)
    }
  }

  /** Callers from now on do not join the requests that are in flight. */
  clear(): void {
    this.#inFlight.clear()
  }

  #start<T>(key: string, send: (signal: AbortSignal) => Promise<T>): InFlight<T> {
    const controller = new AbortController()
    const shared = { response: send(controller.signal), controller, callers: 0 }
    this.#inFlight.set(key, shared)
    // A call after the response must send a new request, even if another caller has not read the response yet.
    const remove = () => this.#remove(key, shared)
    shared.response.then(remove, remove)
    return shared
  }

  #abort(key: string, shared: InFlight<unknown>): void {
    this.#remove(key, shared)
    shared.controller.abort()
  }

  #remove(key: string, shared: InFlight<unknown>): void {
    if (this.#inFlight.get(key) === shared) this.#inFlight.delete(key)
  }
}

function unlessAborted<T>(response: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortedBy(signal))
    signal.addEventListener('abort', abort, { once: true })
    response.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
