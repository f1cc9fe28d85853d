import type { IncomingMessage, ServerResponse } from 'node:http'
import { nodeListener } from '@countersign/sdk/node'
import type { Limit } from '../policy/policy.ts'
import { addressKey } from '../request/address-key.ts'
import { headerOf } from '../request/node-request.ts'
import { TokenBuckets } from '../token-buckets.ts'
import { clientAddress, schemeIn } from './proxy-request.ts'
import type { SignInSettings } from './session-settings.ts'

/** Serves the sign-in endpoint of the sites behind (docs/sessions.md). Agents reach it through the proxy. */
export class SignInEndpoint {
  readonly #settings: SignInSettings
  readonly #buckets: TokenBuckets

  /** @param limit for each client address */
  constructor(settings: SignInSettings, limit: Limit) {
    this.#settings = settings
    this.#buckets = new TokenBuckets(limit)
  }

  /** Whether a request is for this endpoint. */
  isAt(url: string): boolean {
    return url.split('?', 1)[0] === this.#settings.path
  }

  /** @param now milliseconds of a monotonic clock */
  answer(request: IncomingMessage, response: ServerResponse, now: number): void {
    const seconds = this.#buckets.take(addressKey(clientAddress(request) ?? ''), now)
    if (seconds > 0) {
      response.setHeader('retry-after', seconds)
      refuse(response, 429, 'RATE_LIMITED', 'Too many sign-ins from this address.')
      return
    }
    const origin = originOf(request)
    const site = origin === null ? undefined : this.#settings.sites.get(origin)
    if (origin === null || site === undefined) {
      refuse(response, 404, 'NOT_FOUND', 'Agents do not sign in at this origin.')
      return
    }
    nodeListener(origin, (each) => site.handle(each))(request, response)
  }
}

/**
 * The origin at which the agent reached the proxy. A client that lies here gets a challenge for another one of our audiences,
 * which agents answer at that one only.
 */
function originOf(request: IncomingMessage): string | null {
  const scheme = schemeIn(headerOf(request, 'x-forwarded-proto'))
  const host = headerOf(request, 'x-forwarded-host') ?? headerOf(request, 'host')
  const url = `${scheme}://${host}`
  return scheme !== null && URL.canParse(url) ? new URL(url).origin : null
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify({ error: { code, message, requestId } }))
}
