import { PassThrough } from 'node:stream'

/** A reader that takes nothing while so much waits is given up. */
const MOST_WAITING = 64 * 1024

/** Server-sent events (WHATWG HTML, section 9.2), as a stream to answer with. */
export class EventStream extends PassThrough {
  /**
   * What a browser that comes again will name as the last event it has seen, and when it may come.
   * @param retryMs so long it waits after the connection has ended
   */
  begin(id: number, retryMs: number): void {
    this.#say(`retry: ${retryMs}\nid: ${id}\n\n`)
  }

  /** @param type without a line break */
  event(id: number, type: string, data: object): void {
    this.#say(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** Says nothing, so that whatever is in between sees that the connection lives. */
  heartbeat(): void {
    this.#say(':\n\n')
  }

  #say(text: string): void {
    if (this.destroyed || this.writableEnded) return
    if (this.writableLength + this.readableLength > MOST_WAITING) this.destroy()
    else this.write(text)
  }
}
