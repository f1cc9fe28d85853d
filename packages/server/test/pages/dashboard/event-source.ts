import assert from 'node:assert/strict'
import type { TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'

export interface ServerSentEvent {
  readonly id: string
  readonly event: string
  readonly data: Record<string, string>
}

/** Reads a stream of server-sent events as a page does. */
export class EventSource {
  readonly headers: Headers
  /** The number of heartbeats received. */
  heartbeats = 0
  readonly #reader: ReadableStreamDefaultReader<string>
  #text = ''
  #id = ''

  constructor(response: Response) {
    assert.equal(response.status, 200)
    assert.ok(response.body)
    this.headers = response.headers
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** @returns the next event, or null if the stream has ended normally */
  async next(): Promise<ServerSentEvent | null> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end === -1) {
        const { done, value } = await this.#reader.read()
        if (done) return null
        this.#text += value
        continue
      }
      const block = this.#text.slice(0, end)
      this.#text = this.#text.slice(end + 2)
      if (block === ':') this.heartbeats += 1
      const fields = new Map(
        block.split('\n').map((line) => {
          const [name, ...rest] = line.split(': ')
          return [name, rest.join(': ')]
        }),
      )
      this.#id = fields.get('id') ?? this.#id
      const data = fields.get('data')
      if (data === undefined) continue
      return { id: this.#id, event: fields.get('event') ?? 'message', data: JSON.parse(data) }
    }
  }

  close(): Promise<void> {
    return this.#reader.cancel()
  }
}

/** Opens an owner's stream. @param lastEventId sent as Last-Event-ID, as on a reconnect */
export async function openStream(
  service: TestService,
  { cookie }: SignedInOwner,
  lastEventId?: string,
): Promise<EventSource> {
  const again = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const response = await fetch(`${service.url}/api/account/stream`, {
    headers: { cookie, accept: 'text/event-stream', ...again },
  })
  return new EventSource(response)
}
