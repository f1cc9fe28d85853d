import { PassThrough } from 'node:stream'
import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import type { App } from '../core/http/server.ts'
import { type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import { isStillSignedIn } from '../owners/session.ts'
import { AgentEventBroadcaster, type BroadcasterDeps } from './agent-event-broadcaster.ts'

const TICK_MS = 1000
/** A heartbeat every 20 seconds. */
const TICKS_A_HEARTBEAT = 20
const RETRY_MS = 2000

/** What happens to the owner's agents, as it happens. A stream ends with the session, and with the service. */
export function streamRoute(
  app: App,
  { deps, signedIn }: OwnerRouteContext<BroadcasterDeps>,
): void {
  const followers = new AgentEventBroadcaster(deps)
  const open = new Set<EventStream>()
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    for (const stream of open) stream.end()
  })

  app.get('/api/account/stream', {
    exposeHeadRoute: false,
    schema: ownerSchema({
      operationId: 'accountStream',
      summary: "What happens to the owner's agents, as server-sent events",
      response: {
        200: {
          description: 'One event a change: its type, its number as id, JSON as data',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
      },
    }),
    handler: async (request, reply) => {
      const session = await signedIn.require(request)
      if (closing) throw new CodedError('UNAVAILABLE', 'The service is shutting down.')
      const stream = new EventStream()
      const following = followers.follow(session.ownerId, lastSeen(request), {
        send: ({ seq, type, data }) => stream.event(seq, type, data),
        end: () => stream.destroy(),
      })
      let ticks = 0
      const timer = setInterval(() => {
        ticks += 1
        if (ticks % TICKS_A_HEARTBEAT === 0) stream.heartbeat()
        isStillSignedIn(deps, session).then(
          (still) => still || stream.end(),
          () => stream.destroy(),
        )
      }, TICK_MS)
      open.add(stream)
      stream.once('close', () => {
        clearInterval(timer)
        following.stop()
        open.delete(stream)
      })
      stream.begin(following.from, RETRY_MS)
      return reply
        .type('text/event-stream')
        .header('x-accel-buffering', 'no')
        .send(stream as never)
    },
  })
}

function lastSeen({ headers }: FastifyRequest): number | null {
  const id = headers['last-event-id']
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : null
}

/** A reader that takes nothing while so much waits is given up. */
const MOST_WAITING = 64 * 1024

/** Server-sent events (WHATWG HTML, section 9.2), as a stream to answer with. */
class EventStream extends PassThrough {
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
