import { abortedBy } from './patience.ts'

interface Call<T> {
  readonly answer: Promise<T>
  readonly controller: AbortController
  callers: number
}

/**
 * One call for all who ask the same while it is under way. Whoever gives up leaves the others alone; the call itself
 * ends once nobody waits for it.
 */
export class SharedCalls {
  readonly #calls = new Map<string, Call<unknown>>()

  /** @param key the same for the same question; the answers of one key are of one type */
  async ask<T>(
    key: string,
    signal: AbortSignal | undefined,
    begin: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (signal?.aborted) throw abortedBy(signal)
    const call = (this.#calls.get(key) as Call<T> | undefined) ?? this.#begin(key, begin)
    call.callers += 1
    try {
      return signal === undefined ? await call.answer : await unlessAborted(call.answer, signal)
    } finally {
      call.callers -= 1
      if (call.callers === 0) this.#end(key, call)
    }
  }

  /** Whoever asks from now on gets an answer from now on. */
  forgetAll(): void {
    this.#calls.clear()
  }

  #begin<T>(key: string, begin: (signal: AbortSignal) => Promise<T>): Call<T> {
    const controller = new AbortController()
    const call = { answer: begin(controller.signal), controller, callers: 0 }
    this.#calls.set(key, call)
    // Whoever comes after the answer asks anew, even while somebody has still to read it.
    const forget = () => this.#forget(key, call)
    call.answer.then(forget, forget)
    return call
  }

  #end(key: string, call: Call<unknown>): void {
    this.#forget(key, call)
    call.controller.abort()
  }

  #forget(key: string, call: Call<unknown>): void {
    if (this.#calls.get(key) === call) this.#calls.delete(key)
  }
}

function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(abortedBy(signal))
    signal.addEventListener('abort', end, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
