import { isLoopback } from '@countersign/protocol'
import { Type } from 'typebox'
import { type FetchFailure, fetchBoundedJson } from '../core/network/bounded-fetch.ts'
import { ProviderFailure } from './provider.ts'

/** What a provider takes from its surroundings, for tests to change. */
export interface Outside {
  /** How long one call may take, its answer included. */
  readonly timeLimitMs: number
  readonly now: () => number
}

export const OUTSIDE: Outside = { timeLimitMs: 10_000, now: Date.now }

/** Where a provider is, without a slash at the end. Only the development of this service needs another than https. */
export const baseAddress = (usual: string) =>
  Type.String({
    pattern:
      '^(https://[^/?#@\\s]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]+)?)(/[^/?#\\s]+)*$',
    description: `an https address, or one on loopback, without a slash at the end; ${usual} where not set`,
  })

export interface JsonCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as a form, in place of JSON. */
  readonly form?: Readonly<Record<string, string>>
  readonly timeLimitMs: number
}

export interface JsonAnswer {
  readonly status: number
  /** Undefined where the body is not JSON. */
  readonly body: unknown
}

/**
 * Calls a provider. Redirects are not followed: they would carry secrets along.
 * @throws ProviderFailure where it does not answer in time, answers with a redirect or with more than 64 KiB; the
 * message holds the host's name and nothing of what was sent or received
 */
export async function callJson(address: string, call: JsonCall): Promise<JsonAnswer> {
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

function requestOf({ method, headers, json, form }: JsonCall) {
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
