import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision } from './decision/decision.ts'
import type { Ruling } from './decision/ruling.ts'
import { denialOf, variesBy, withVary } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { fieldOf, forwardToNode, stripNodeHeaders } from './request/node-headers.ts'
import { isPreflight } from './request/preflight.ts'

declare global {
  namespace Express {
    interface Request {
      /** What the gateway has decided. Mind `proofOfPossession`. */
      agent: Decision
    }
  }
}

/** What the middleware uses of a request: Express 5, and whatever else passes node:http requests along like it. */
interface NodeRequest extends IncomingMessage {
  readonly originalUrl?: string
  readonly ip?: string | undefined
  agent?: Decision
}

/** A middleware as Express 5 takes it. */
export type GatewayMiddleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void

/**
 * Lets agents in, or not: `app.use(gateway({ service: 'https://id.example' }))`. What was decided is in `request.agent`.
 * Put it after `cors()` and before whatever reads requests.
 * @throws PolicyError with every mistake in the options at once
 */
export function gateway(options: GatewayOptions): GatewayMiddleware {
  const gate = new Gate(options)
  const sessions = options.sessions !== undefined
  const varies = variesBy(gate.naming, sessions)
  return (request: NodeRequest, response, next) => {
    stripNodeHeaders(request, gate.isIdentityHeader)
    const proceed = ({ decision, forwarded }: Ruling) => {
      request.agent = decision
      const denial = denialOf(decision, gate.naming, fieldOf(request, 'accept'), sessions)
      response.setHeader('vary', withVary(String(response.getHeader('vary') ?? ''), varies))
      if (denial === null) {
        forwardToNode(request, forwarded)
        return next()
      }
      response.statusCode = denial.status
      for (const [name, value] of denial.headers) {
        const before = name === 'vary' ? String(response.getHeader(name)) : ''
        response.setHeader(name, name === 'vary' ? withVary(before, value) : value)
      }
      response.end(denial.body)
    }
    const ruling = gate.decide({
      method: request.method ?? 'GET',
      target: request.originalUrl ?? request.url ?? '/',
      identification: fieldOf(request, gate.idHeader),
      authorization: sessions ? fieldOf(request, 'authorization') : null,
      address: () => request.ip ?? request.socket?.remoteAddress ?? null,
      preflight: isPreflight(request.method, (name) => fieldOf(request, name)),
    })
    if (ruling instanceof Promise) ruling.then(proceed)
    else proceed(ruling)
  }
}
