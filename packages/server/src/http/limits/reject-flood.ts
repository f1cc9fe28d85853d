import type { ServerResponse } from 'node:http'
import { isTurnTooLong } from '../../base/loop-turn.ts'
import { EXPOSED_HEADERS_ON_ERROR } from '../cors.ts'
import { errorResponse } from '../error-handler.ts'
import { newRequestId } from '../request-id.ts'
import type { AheadOfRouter } from '../server.ts'
import type { LoadShedder } from './concurrency-limiter.ts'
import { PRESSURE_MESSAGE, PRESSURE_RETRY_SECONDS } from './load-shedding.ts'

/** What anybody may ask for without an account, and what costs most. */
const FLOODED_URLS = new Set(['/api/v1/agent/verify', '/api/v1/verify-request', '/api/v1/claim'])

/**
 * Rejects verifications and claims ahead of the router while the turn is too long. The router and its hooks cost several
 * times as much as this answer, which has the same body and headers.
 */
export function rejectFlood(loadShedder: LoadShedder): AheadOfRouter {
  return (request, response) => {
    const { url, method, socket } = request
    if (method !== 'POST' || url === undefined || !FLOODED_URLS.has(url)) return false
    if (!isTurnTooLong()) return false
    loadShedder.rejectedUnderPressure += 1
    loadShedder.rest(socket)
    send(response)
    return true
  }
}

function send(response: ServerResponse): void {
  const { status, body } = errorResponse('UNAVAILABLE', PRESSURE_MESSAGE, newRequestId())
  const json = JSON.stringify(body)
  response.writeHead(status, [
    'x-content-type-options',
    'nosniff',
    'access-control-allow-origin',
    '*',
    'access-control-expose-headers',
    EXPOSED_HEADERS_ON_ERROR,
    'retry-after',
    String(PRESSURE_RETRY_SECONDS),
    'cache-control',
    'no-store',
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(json.length),
  ])
  response.end(json, 'latin1')
}
