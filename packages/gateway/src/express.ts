import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision, Denial, Refused } from './decision/decision.ts'
import type { Outcome } from './decision/outcome.ts'
import { callOnRefused, denialFor, headersWithoutBody } from './denial.ts'
import { Gate } from './gate.ts'
import type { Closeable, GatewayOptions } from './options.ts'
import { mergeVary } from './request/headers.ts'
import { addForwardedHeaders, NodeRequest, stripIdentityHeaders } from './request/node-request.ts'

declare global {
  namespace Express {
    interface Request {
      /** The gateway's decision. Only `proof` says whether the caller proved who it is. */
      agent: Decision
    }
  }
}

/** The parts of a request that the middleware uses: Express 5, and other frameworks that pass on node:http requests. */
interface ExpressRequest extends IncomingMessage {
  readonly originalUrl?: string
  readonly ip?: string | undefined
  readonly protocol?: string
  agent?: Decision
}

/** Options of the gateway for Express. */
export interface ExpressGatewayOptions extends GatewayOptions {
  /**
   * Answers refused requests instead of the gateway. The status and headers such as `Vary` and `Cache-Control: no-store`
   * are set already. If it throws or rejects, the gateway answers.
   */
  readonly onRefused?:
    | ((request: IncomingMessage, response: ServerResponse, refused: Refused) => unknown)
    | undefined
}

/** An Express 5 middleware. */
export interface GatewayMiddleware extends Closeable {
  (request: IncomingMessage, response: ServerResponse, next: () => void): void
}

/**
 * Admits or refuses agents: `app.use(gateway({ service: 'https://id.example' }))`. The decision is in `request.agent`.
 * Install it after `cors()` and before middlewares that read requests.
 * @throws PolicyError listing every mistake in the options
 */
export function gateway(options: ExpressGatewayOptions): GatewayMiddleware {
  const gate = new Gate({ ...options, followsIssuers: true })
  const { idHeader, accepts, vary } = gate
  const reading = { idHeader, accepts, tlsTerminated: options.tlsTerminated ?? false }
  const proceed = (
    { decision, forwarded }: Outcome,
    asked: NodeRequest,
    request: ExpressRequest,
    response: ServerResponse,
    next: () => void,
  ) => {
    request.agent = decision
    response.setHeader('vary', mergeVary(String(response.getHeader('vary') ?? ''), vary))
    if (decision.admitted) {
      addForwardedHeaders(request, forwarded)
      return next()
    }
    const denial = denialFor(decision, gate, asked.get('accept'), () => asked.raw())
    const { onRefused } = options
    if (onRefused === undefined) return refuse(response, denial)
    setHead(response, denial.status, headersWithoutBody(denial))
    callOnRefused(
      () => onRefused(request, response, { ...denial, decision }),
      () => (response.headersSent ? response.destroy() : refuse(response, denial)),
    )
  }
  const middleware = (request: ExpressRequest, response: ServerResponse, next: () => void) => {
    stripIdentityHeaders(request, gate.isIdentityHeader)
    const target = request.originalUrl ?? request.url ?? '/'
    const asked = new NodeRequest(request, target, request, reading)
    const outcome = gate.decide(asked)
    if (outcome instanceof Promise) {
      outcome.then((each) => proceed(each, asked, request, response, next))
    } else proceed(outcome, asked, request, response, next)
  }
  return Object.assign(middleware, { close: () => gate.close() })
}

function refuse(response: ServerResponse, { status, headers, body }: Denial): void {
  setHead(response, status, headers)
  response.end(body)
}

function setHead(response: ServerResponse, status: number, headers: Denial['headers']): void {
  response.statusCode = status
  for (const [name, value] of headers) {
    const current = name === 'vary' ? String(response.getHeader(name)) : ''
    response.setHeader(name, name === 'vary' ? mergeVary(current, value) : value)
  }
}
