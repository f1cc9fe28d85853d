import type { Decision } from './decision/decision.ts'
import { denialOf, variesBy, withVary } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { rewrite, varying } from './request/fetch-headers.ts'
import { isPreflight } from './request/preflight.ts'

/** How a gateway for fetch handlers is set up. */
export interface FetchGatewayOptions extends GatewayOptions {
  /**
   * The client's address, for limits. Default: none, so that all who are not identified share one limit.
   * On Cloudflare's Workers: `(request) => request.headers.get('cf-connecting-ip')`
   */
  readonly address?: ((request: Request) => string | null) | undefined
}

/** A handler of fetch's kind, with whatever the platform hands along. */
type Handler<More extends unknown[]> = (
  request: Request,
  ...more: More
) => Response | Promise<Response>

const decisions = new WeakMap<Request, Decision>()

/**
 * What a gateway has decided for the request that its handler was given.
 * @throws TypeError for any other request
 */
export function agentOf(request: Request): Decision {
  const decision = decisions.get(request)
  if (decision === undefined) throw new TypeError('No gateway has decided on this request.')
  return decision
}

/**
 * Lets agents in, or not: `export default { fetch: gateway({ service: 'https://id.example' })(handler) }`. What was
 * decided is in `agentOf(request)`.
 * @throws PolicyError with every mistake in the options at once
 */
export function gateway(options: FetchGatewayOptions) {
  const gate = new Gate(options)
  const sessions = options.sessions !== undefined
  const varies = variesBy(gate.naming, sessions)
  return <More extends unknown[]>(handler: Handler<More>) =>
    async (request: Request, ...more: More): Promise<Response> => {
      const field = (name: string) => request.headers.get(name)
      const { pathname, search } = new URL(request.url)
      const { decision, forwarded } = await gate.decide({
        method: request.method,
        target: pathname + search,
        identification: field(gate.idHeader),
        authorization: sessions ? field('authorization') : null,
        address: () => options.address?.(request) ?? null,
        preflight: isPreflight(request.method, field),
      })
      const denial = denialOf(decision, gate.naming, field('accept'), sessions)
      if (denial !== null) {
        const headers = denial.headers.map(([name, value]): [string, string] => [name, value])
        return new Response(denial.body, { status: denial.status, headers })
      }
      const headers = new Headers(request.headers)
      rewrite(headers, gate.isIdentityHeader, forwarded)
      const passed = new Request(request, { headers })
      decisions.set(passed, decision)
      const response = await handler(passed, ...more)
      const before = response.headers.get('vary')
      const after = withVary(before, varies)
      return after === before ? response : varying(response, after)
    }
}
