import { isLoopback } from '@countersign/protocol'
import { Type } from 'typebox'
import { type FetchFailure, fetchBoundedJson } from '../../http/outbound/bounded-fetch.ts'
import { ProviderFailure } from './provider.ts'

/** Time limit and clock of a provider, which tests replace. */
export interface ProviderRuntime {
  /** Milliseconds for one request, including its response. */
  readonly timeLimitMs: number
  readonly now: () => number
}

export const DEFAULT_RUNTIME: ProviderRuntime = { timeLimitMs: 10_000, now: Date.now }

/** The setting for a provider's base URL without a trailing slash. Plain http is for tests on loopback. */
export const baseAddress = (defaultUrl: string) =>
  Type.String({
    pattern:
      '^(https://[^/?#@\\s]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]+)?)(/[^/?#\\s]+)*$',
    description: `an https address, or one on loopback, without a slash at the end; ${defaultUrl} where not set`,
  })

export interface JsonRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as application/x-www-form-urlencoded instead of JSON. */
  readonly form?: Readonly<Record<string, string>>
  readonly timeLimitMs: number
}

export interface JsonResponse {
  readonly status: number
  /** Undefined if the body is not JSON. */
  readonly body: unknown
}

/**
 * Sends a request to a provider. Redirects are not followed, because they could forward secrets.
 * @throws ProviderFailure if the response is late, a redirect, or larger than 64 KiB; the message names the host and
 *   nothing that was sent or received
 */
export async function fetchJson(address: string, call: JsonRequest): Promise<JsonResponse> {
  const url = new URL(address)
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw new ProviderFailure(`${url.host} is not called: the address is not https.`)
  return fetchBoundedJson(
    url,
    requestOf(call),
    call.timeLimitMs,
    (failure) => new ProviderFailure(`${url.host} ${FAILURES[failure]}.`),
  )
}

const FAILURES: Readonly<Record<FetchFailure, string>> = {
  redirect: 'answers with a redirect',
  'too-large': 'answers with too much',
  timeout: 'does not answer in time',
  unreachable: 'cannot be reached',
}

function requestOf({ method, headers, json, form }: JsonRequest) {
  return {
    method,
    headers: {
      accept: 'application/json',
      'user-agent': 'countersign',
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form !== undefined && { body: new URLSearchParams(form) }),
  }
}
