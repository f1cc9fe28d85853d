import { CodedError } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const SAFE = ['GET', 'HEAD']

/**
 * Honours If-Match (RFC 9110 section 13.1.1) on every route that is registered after this call: a request whose condition is
 * false gets 412. A change is refused before it is made. As with If-None-Match, a refusal for another reason comes first.
 */
export function honourIfMatch(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const isRead = [route.method].flat().every((method) => SAFE.includes(method))
    if (isRead) route.onSend = [route.onSend ?? []].flat().concat(checkRepresentation)
    else route.preHandler = [route.preHandler ?? []].flat().concat(checkBeforeChange)
  })
}

/** Runs after the route's own hooks, which set the ETag. */
function checkRepresentation(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error?: Error | null, payload?: unknown) => void,
): void {
  const condition = request.headers['if-match']
  // A 304 would have been a 200 without its own condition, which comes second (section 13.2.2).
  const hasRepresentation = reply.statusCode === 200 || reply.statusCode === 304
  if (condition === undefined || !hasRepresentation || holds(condition, etagOf(reply))) {
    done(null, payload)
  } else done(preconditionFailed())
}

/** What is changed has no entity tag, so that no tag can match it. */
function checkBeforeChange(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const condition = request.headers['if-match']
  if (condition === undefined || holds(condition, null)) done()
  else done(preconditionFailed())
}

/** `*`, or a list of tags by strong comparison: a weak one never matches. */
function holds(condition: string, etag: string | null): boolean {
  if (condition.trim() === '*') return true
  return condition.split(',').some((tag) => etag !== null && tag.trim() === etag)
}

function etagOf(reply: FastifyReply): string | null {
  const etag = reply.getHeader('etag')
  return typeof etag === 'string' && !etag.startsWith('W/') ? etag : null
}

function preconditionFailed(): CodedError {
  return new CodedError(
    'PRECONDITION_FAILED',
    'The resource has changed since you read it (If-Match). Read it again.',
  )
}
