import type { Context, MiddlewareHandler } from 'hono'
import type { Decision } from './decision/decision.ts'
import { denialOf, variesBy, withVary } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { rewrite, varying } from './request/fetch-headers.ts'
import { isPreflight } from './request/preflight.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** What the gateway has decided. Mind `proofOfPossession`. */
    agent: Decision
  }
}

/** How a gateway for Hono is set up. */
export interface HonoGatewayOptions extends GatewayOptions {
  /**
   * The client's address, for limits. Default: that of the connection with @hono/node-server, else none: then all who are
   * not identified share one limit. On Workers: `(c) => c.req.header('cf-connecting-ip') ?? null`
   */
  readonly address?: ((context: Context) => string | null) | undefined
}

/**
 * Lets agents in, or not: `app.use(gateway({ service: 'https://id.example' }))`. What was decided is in `c.get('agent')`.
 * @throws PolicyError with every mistake in the options at once
 */
export function gateway(options: HonoGatewayOptions): MiddlewareHandler {
  const gate = new Gate(options)
  const sessions = options.sessions !== undefined
  const varies = variesBy(gate.naming, sessions)
  const { address = addressOfNode } = options
  return async (c, next) => {
    const { raw } = c.req
    const field = (name: string) => raw.headers.get(name)
    const asking = gate.decide({
      method: raw.method,
      target: targetOf(raw.url),
      identification: field(gate.idHeader),
      authorization: sessions ? field('authorization') : null,
      address: () => address(c),
      preflight: isPreflight(raw.method, field),
    })
    const { decision, forwarded } = asking instanceof Promise ? await asking : asking
    c.set('agent', decision)
    const denial = denialOf(decision, gate.naming, field('accept'), sessions)
    if (denial !== null) {
      return c.body(denial.body, denial.status, Object.fromEntries(denial.headers))
    }
    try {
      rewrite(raw.headers, gate.isIdentityHeader, forwarded)
    } catch {
      // Where requests cannot be changed (Workers, Deno), the site behind gets another one.
      const headers = new Headers(raw.headers)
      rewrite(headers, gate.isIdentityHeader, forwarded)
      c.req.raw = new Request(raw, { headers })
    }
    await next()
    const before = c.res.headers.get('vary')
    const after = withVary(before, varies)
    if (after !== before) c.res = varying(c.res, after)
    return undefined
  }
}

/** Path and query of an absolute URL, as it is spelt. */
function targetOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf('//') + 2))
}

/** Of the connection, where @hono/node-server hands it along. */
function addressOfNode({ env }: Context): string | null {
  return env?.incoming?.socket?.remoteAddress ?? null
}
