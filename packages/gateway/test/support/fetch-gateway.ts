import type { Decision } from '../../src/decision/decision.ts'
import { agentOf, type FetchGatewayOptions, gateway } from '../../src/fetch.ts'

/** A request to a fetch handler with a gateway, without a server in between. */
export type Visit = (
  headers?: Readonly<Record<string, string>>,
  path?: string,
) => Promise<{ readonly status: number; readonly decision: Decision; readonly response: Response }>

/**
 * A site that lets in whom the gateway lets in. The decision is the last one that the hook was told. It has patience with
 * a busy machine, unless the test says how much.
 */
export function fetchGateway(options: FetchGatewayOptions): Visit {
  let last: Decision | undefined
  const onDecision = (decision: Decision) => {
    last = decision
  }
  const handler = gateway({ timeoutMs: 30_000, ...options, onDecision })(
    (request: Request) => new Response(`let in by ${agentOf(request).action}`),
  )
  return async (headers = {}, path = '/') => {
    const response = await handler(new Request(`https://shop.example${path}`, { headers }))
    if (last === undefined) throw new Error('the hook was not told')
    return { status: response.status, decision: last, response }
  }
}
