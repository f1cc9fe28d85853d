import type { JobHandlers } from '../database/jobs/run-jobs.ts'
import type { Part } from '../http/part.ts'

/** Opens parts one after another, and closes them in reverse. */
export class OpenedParts implements AsyncDisposable {
  readonly #closing = new AsyncDisposableStack()

  async open<P extends Part>(opening: Promise<P>): Promise<P> {
    const part = await opening
    this.#closing.defer(() => part.close?.())
    return part
  }

  /** Does nothing the second time. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#closing.disposeAsync()
  }
}

/** The job handlers of all parts. @throws Error if two parts have the same kind */
export function jobHandlersOf(parts: readonly Part[]): JobHandlers {
  const handlers = new Map<string, JobHandlers[string]>()
  for (const [kind, handle] of parts.flatMap(({ jobs = {} }) => Object.entries(jobs))) {
    if (handlers.has(kind)) throw new Error(`Two parts handle jobs of the kind ${kind}.`)
    handlers.set(kind, handle)
  }
  return Object.fromEntries(handlers)
}
