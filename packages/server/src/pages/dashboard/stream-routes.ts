import { PassThrough } from 'node:stream'
import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import { isStillSignedIn } from '../../accounts/owners/session.ts'
import type { App } from '../../http/server.ts'
import { AgentEventBroadcaster, type BroadcasterDeps } from './agent-event-broadcaster.ts'

/** How often to check that the session is still valid. */
const TICK_MS = 1000
/** A heartbeat every 20 seconds. */
const TICKS_PER_HEARTBEAT = 20
const RETRY_MS = 2000
/** Of the streams of a process. The others are for owners with agents: accounts are free, claims are not. */
const MAX_STREAMS_WITHOUT_AGENTS = 200

/** Registers the stream of events of the owner's agents. It ends with the session, and when the service stops. */
export function streamRoute(
  app: App,
  { deps, authenticator }: OwnerRouteContext<BroadcasterDeps>,
): void {
  const broadcaster = new AgentEventBroadcaster(deps)
  const open = new Set<EventStream>()
  let withoutAgents = 0
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    for (const stream of open) stream.end()
  })

  app.get('/api/account/stream', {
    exposeHeadRoute: false,
    schema: ownerSchema({
      operationId: 'accountStream',
      summary: "Stream the events of the owner's agents, as server-sent events",
      response: {
        200: {
          description: 'server-sent events: type, number as id, JSON as data',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
      },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireSession(request)
      if (closing) throw new CodedError('UNAVAILABLE', 'The service is shutting down.')
      const hasAgents = await broadcaster.hasAgents(session.ownerId)
      if (!hasAgents && withoutAgents >= MAX_STREAMS_WITHOUT_AGENTS) {
        throw new CodedError(
          'UNAVAILABLE',
          'Too many streams at once of accounts without agents. Nothing was done: try again in a second.',
          { retryAfterSeconds: 1 },
        )
      }
      const stream = new EventStream()
      const subscription = broadcaster.subscribe(session.ownerId, lastEventId(request), {
        send: ({ seq, type, data }) => stream.event(seq, type, data),
        end: () => stream.destroy(),
      })
      let ticks = 0
      const timer = setInterval(() => {
        ticks += 1
        if (ticks % TICKS_PER_HEARTBEAT === 0) stream.heartbeat()
        isStillSignedIn(deps, session).then(
          (still) => still || stream.end(),
          () => stream.destroy(),
        )
      }, TICK_MS)
      open.add(stream)
      if (!hasAgents) withoutAgents += 1
      stream.once('close', () => {
        clearInterval(timer)
        subscription.stop()
        open.delete(stream)
        if (!hasAgents) withoutAgents -= 1
      })
      stream.begin(subscription.from, RETRY_MS)
      return reply
        .type('text/event-stream')
        .header('x-accel-buffering', 'no')
        .send(stream as never)
    },
  })
}

function lastEventId({ headers }: FastifyRequest): number | null {
  const id = headers['last-event-id']
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : null
}

/** Streams with more unread bytes are closed. */
const MAX_BUFFERED_BYTES = 64 * 1024

/** A response stream of server-sent events (WHATWG HTML, section 9.2). */
class EventStream extends PassThrough {
  /**
   * Sends the id that the browser repeats in `Last-Event-ID` when it reconnects.
   * @param retryMs how long the browser waits before it reconnects
   */
  begin(id: number, retryMs: number): void {
    this.#send(`retry: ${retryMs}\nid: ${id}\n\n`)
  }

  /** @param type without a line break */
  event(id: number, type: string, data: object): void {
    this.#send(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** Sends an empty comment, so that proxies keep the connection open. */
  heartbeat(): void {
    this.#send(':\n\n')
  }

  #send(text: string): void {
    if (this.destroyed || this.writableEnded) return
    if (this.writableLength + this.readableLength > MAX_BUFFERED_BYTES) this.destroy()
    else this.write(text)
  }
}
