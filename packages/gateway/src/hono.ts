import type { IncomingMessage } from 'node:http'
import type { RawRequest } from '@countersign/protocol'
import type { Context, MiddlewareHandler } from 'hono'
import type { Decision, Refused } from './decision/decision.ts'
import { customResponse, denialFor } from './denial.ts'
import { Gate } from './gate.ts'
import type { Closeable, GatewayOptions } from './options.ts'
import { isPreflight, isSigned } from './request/headers.ts'
import { rawNodeRequest } from './request/node-request.ts'
import {
  addVary,
  bodyReader,
  rawWebRequest,
  targetOf,
  withIdentityHeaders,
} from './request/web-request.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The gateway's decision. Only `proof` says whether the caller proved who it is. */
    agent: Decision
  }
}

/** Options of the gateway for Hono. */
export interface HonoGatewayOptions extends GatewayOptions {
  /**
   * The client's address, for rate limits. Default: the connection's address with @hono/node-server. On other platforms
   * there is none, and all unidentified callers share one limit. On Workers: `(c) => c.req.header('cf-connecting-ip') ?? null`
   */
  readonly address?: ((context: Context) => string | null) | undefined
  /**
   * The response for a refused request instead of the gateway's. `Vary` and `Cache-Control: no-store` are added if it lacks
   * them. If it throws or rejects, the gateway answers.
   */
  readonly onRefused?:
    | ((context: Context, refused: Refused) => Response | Promise<Response>)
    | undefined
}

/**
 * Admits or refuses agents: `app.use(gateway({ service: 'https://id.example' }))`. The decision is in `c.get('agent')`.
 * @throws PolicyError listing every mistake in the options
 */
export function gateway(options: HonoGatewayOptions): MiddlewareHandler & Closeable {
  const gate = new Gate({ ...options, followsIssuers: true })
  const { vary } = gate
  const { address = connectionAddress, onRefused, tlsTerminated = false } = options
  const middleware: MiddlewareHandler = async (c, next) => {
    const request = c.req.raw
    const { headers } = request
    const raw = () => rawRequestOf(c, tlsTerminated)
    const outcome = gate.decide({
      method: request.method,
      target: targetOf(request.url),
      identification: headers.get(gate.idHeader),
      authorization: gate.accepts.sessions ? headers.get('authorization') : null,
      address: () => address(c),
      preflight: isPreflight(request.method, headers),
      signed: isSigned(headers),
      raw,
      readBody: bodyReader(request),
    })
    const { decision, forwarded } = outcome instanceof Promise ? await outcome : outcome
    c.set('agent', decision)
    const denial = decision.admitted ? null : denialFor(decision, gate, headers.get('accept'), raw)
    const cleaned = withIdentityHeaders(request, gate.isIdentityHeader, forwarded)
    if (cleaned !== request) c.req.raw = cleaned
    if (denial !== null) {
      const answer = onRefused && (() => onRefused(c, { ...denial, decision }))
      const response = answer && (await customResponse(denial, answer))
      if (response) return addVary(response, vary)
      return c.body(denial.body, denial.status, Object.fromEntries(denial.headers))
    }
    await next()
    const response = addVary(c.res, vary)
    if (response !== c.res) c.res = response
    return undefined
  }
  return Object.assign(middleware, { close: () => gate.close() })
}

/** With @hono/node-server from what node:http received, since a `Request` has joined headers and a normalized address. */
function rawRequestOf({ env, req }: Context, tlsTerminated: boolean): RawRequest {
  const incoming: IncomingMessage | undefined = env?.incoming
  const target = Array.isArray(incoming?.rawHeaders) ? incoming.url : undefined
  if (incoming === undefined || target === undefined) return rawWebRequest(req.raw, tlsTerminated)
  const { protocol } = new URL(req.raw.url)
  return rawNodeRequest(incoming, target, tlsTerminated ? 'https' : protocol.slice(0, -1))
}

/** The address of the connection, which only @hono/node-server provides. */
function connectionAddress({ env }: Context): string | null {
  return env?.incoming?.socket?.remoteAddress ?? null
}
