import type { Context, MiddlewareHandler } from 'hono'
import type { Decision } from './decision/decision.ts'
import { denialFor, varyHeader } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { customResponse, type Refused } from './refused.ts'
import { isPreflight } from './request/preflight.ts'
import { addVary, replaceIdentityHeaders } from './request/web-headers.ts'
import { targetOf } from './request/web-target.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The gateway's decision. Only `proofOfPossession` says whether the caller proved who it is. */
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
export function gateway(options: HonoGatewayOptions): MiddlewareHandler {
  const gate = new Gate(options)
  const sessions = options.sessions !== undefined
  const vary = varyHeader(gate.naming, sessions)
  const { address = connectionAddress, onRefused } = options
  return async (c, next) => {
    const { raw } = c.req
    const field = (name: string) => raw.headers.get(name)
    const outcome = gate.decide({
      method: raw.method,
      target: targetOf(raw.url),
      identification: field(gate.idHeader),
      authorization: sessions ? field('authorization') : null,
      address: () => address(c),
      preflight: isPreflight(raw.method, field),
    })
    const { decision, forwarded } = outcome instanceof Promise ? await outcome : outcome
    c.set('agent', decision)
    const denial = denialFor(decision, gate.naming, field('accept'), sessions)
    try {
      replaceIdentityHeaders(raw.headers, gate.isIdentityHeader, forwarded)
    } catch {
      // Requests are immutable on Workers and Deno, so the application gets a changed copy.
      const headers = new Headers(raw.headers)
      replaceIdentityHeaders(headers, gate.isIdentityHeader, forwarded)
      c.req.raw = new Request(raw, { headers })
    }
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
}

/** The address of the connection, which only @hono/node-server provides. */
function connectionAddress({ env }: Context): string | null {
  return env?.incoming?.socket?.remoteAddress ?? null
}
