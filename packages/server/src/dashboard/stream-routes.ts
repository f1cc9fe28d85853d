import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { isSignedInStill } from '../owners/session.ts'
import { EventStream } from './event-stream.ts'
import { AgentFollowers } from './followers.ts'

const TICK_MS = 1000
/** A heartbeat every 20 seconds. */
const TICKS_A_HEARTBEAT = 20
const RETRY_MS = 2000

/** What happens to the owner's agents, as it happens. A stream ends with the session, and with the service. */
export function streamRoute(app: App, { deps, signedIn }: OwnerSide): void {
  const followers = new AgentFollowers(deps)
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
        isSignedInStill(deps, session).then(
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
