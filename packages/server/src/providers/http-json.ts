import { isLoopback } from '@countersign/protocol'
import { Type } from 'typebox'
import { ProviderFailure } from './provider.ts'

const SIZE_LIMIT = 64 * 1024

/** What a provider takes from its surroundings, for tests to change. */
export interface ProviderRuntime {
  /** How long one call may take, its answer included. */
  readonly timeLimitMs: number
  readonly now: () => number
}

export const DEFAULT_RUNTIME: ProviderRuntime = { timeLimitMs: 10_000, now: Date.now }

/** Where a provider is, without a slash at the end. Only the development of this service needs another than https. */
export const baseAddress = (usual: string) =>
  Type.String({
    pattern:
      '^(https://[^/?#@\\s]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]+)?)(/[^/?#\\s]+)*$',
    description: `an https address, or one on loopback, without a slash at the end; ${usual} where not set`,
  })

export interface JsonRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as a form, in place of JSON. */
  readonly form?: Readonly<Record<string, string>>
  readonly timeLimitMs: number
}

export interface JsonResponse {
  readonly status: number
  /** Undefined where the body is not JSON. */
  readonly body: unknown
}

/**
 * Calls a provider. Redirects are not followed: they would carry secrets along.
 * @throws ProviderFailure where it does not answer in time, answers with a redirect or with more than 64 KiB; the
 * message holds the host's name and nothing of what was sent or received
 */
export async function fetchJson(address: string, call: JsonRequest): Promise<JsonResponse> {
  const url = new URL(address)
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw new ProviderFailure(`${url.host} is not called: the address is not https.`)
  try {
    const response = await fetch(url, requestOf(call))
    if (response.status >= 300 && response.status < 400)
      throw new ProviderFailure(`${url.host} answers with a redirect.`)
    return { status: response.status, body: parse(await read(response, url.host)) }
  } catch (error) {
    // No cause: what undici throws can hold headers.
    if (error instanceof ProviderFailure) throw error
    const late = error instanceof Error && error.name === 'TimeoutError'
    throw new ProviderFailure(
      late ? `${url.host} does not answer in time.` : `${url.host} cannot be reached.`,
    )
  }
}

function requestOf({ method, headers, json, form, timeLimitMs }: JsonRequest): RequestInit {
  return {
    method,
    headers: {
      accept: 'application/json',
      'user-agent': 'countersign',
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeLimitMs),
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form !== undefined && { body: new URLSearchParams(form) }),
  }
}

async function read(response: Response, host: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > SIZE_LIMIT) throw new ProviderFailure(`${host} answers with too much.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}
