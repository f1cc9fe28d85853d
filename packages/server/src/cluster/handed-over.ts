import type { ChildProcess } from 'node:child_process'

interface Handle {
  close(): void
}

/**
 * The connections on their way to a worker. node:cluster hands over one at a time for each address, and keeps it until
 * the worker says that it has it; where the worker dies just then, it closes it never, and the client waits for ever.
 */
export class HandedOver {
  /** By address: the last one, since one before it has arrived. */
  readonly #last = new Map<unknown, Handle>()

  constructor(child: ChildProcess) {
    const send = child.send.bind(child) as (...args: unknown[]) => boolean
    child.send = (...args: unknown[]) => {
      const [message, handle] = args as [{ key?: unknown }, Handle | null | undefined]
      if (typeof handle?.close === 'function') this.#last.set(message.key, handle)
      return send(...args)
    }
  }

  /** Closes what a worker that has died was to have. What has arrived is closed already, and stays so. */
  close(): void {
    for (const handle of this.#last.values()) handle.close()
    this.#last.clear()
  }
}
