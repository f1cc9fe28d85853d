import type { Decision, Refused } from './decision/decision.ts'
import { customResponse, denialFor } from './denial.ts'
import { Gate } from './gate.ts'
import type { Closeable, GatewayOptions } from './options.ts'
import { isPreflight, isSigned } from './request/headers.ts'
import {
  addVary,
  bodyReader,
  rawWebRequest,
  targetOf,
  withIdentityHeaders,
} from './request/web-request.ts'

/** Options of the gateway for fetch handlers. */
export interface FetchGatewayOptions extends GatewayOptions {
  /**
   * The client's address, for rate limits. Default: none, so that all unidentified callers share one limit.
   * On Cloudflare's Workers: `(request) => request.headers.get('cf-connecting-ip')`
   */
  readonly address?: ((request: Request) => string | null) | undefined
  /**
   * The response for a refused request instead of the gateway's. `Vary` and `Cache-Control: no-store` are added if it lacks
   * them. If it throws or rejects, the gateway answers.
   */
  readonly onRefused?:
    | ((request: Request, refused: Refused) => Response | Promise<Response>)
    | undefined
}

/** A fetch handler. Platforms such as Workers pass further arguments. */
type Handler<Rest extends unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>

/** No WeakMap: garbage collection would walk an entry for each request. */
const DECISION = Symbol('decision')
type Decided = Request & { [DECISION]?: Decision }

/**
 * The gateway's decision on the request that it passed to the handler.
 * @throws TypeError for any other request
 */
export function agentOf(request: Request): Decision {
  const decision = (request as Decided)[DECISION]
  if (decision === undefined) throw new TypeError('No gateway has decided on this request.')
  return decision
}

/**
 * Admits or refuses agents: `export default { fetch: gateway({ service: 'https://id.example' })(handler) }`. Get the
 * decision with `agentOf(request)`.
 * @throws PolicyError listing every mistake in the options
 */
export function gateway(options: FetchGatewayOptions) {
  const gate = new Gate({ ...options, followsIssuers: true })
  const { vary } = gate
  const { onRefused, tlsTerminated = false } = options
  const protect =
    <Rest extends unknown[]>(handler: Handler<Rest>) =>
    async (request: Request, ...rest: Rest): Promise<Response> => {
      const { headers } = request
      const raw = () => rawWebRequest(request, tlsTerminated)
      const { decision, forwarded } = await gate.decide({
        method: request.method,
        target: targetOf(request.url),
        identification: headers.get(gate.idHeader),
        authorization: gate.accepts.sessions ? headers.get('authorization') : null,
        address: () => options.address?.(request) ?? null,
        preflight: isPreflight(request.method, headers),
        signed: isSigned(headers),
        raw,
        readBody: bodyReader(request),
      })
      const denial = decision.admitted
        ? null
        : denialFor(decision, gate, headers.get('accept'), raw)
      const cleaned: Decided = withIdentityHeaders(request, gate.isIdentityHeader, forwarded)
      cleaned[DECISION] = decision
      if (denial === null) return addVary(await handler(cleaned, ...rest), vary)
      const answer = onRefused && (() => onRefused(cleaned, { ...denial, decision }))
      const response = answer && (await customResponse(denial, answer))
      if (response) return addVary(response, vary)
      const own = denial.headers.map(([name, value]): [string, string] => [name, value])
      return new Response(denial.body, { status: denial.status, headers: own })
    }
  return Object.assign(protect, { close: () => gate.close() } satisfies Closeable)
}
