import { readBody } from '@countersign/protocol'
import { noResponse, unexpectedAnswer } from '@countersign/sdk/tool-support'
import type { Invocation } from './invocation.ts'

/** What a bot registry needs of an agent's client metadata document. */
export interface ClientMetadata {
  /** The URL of the document. */
  readonly clientId: string
  readonly keySet: string
}

const MAX_BYTES = 64 * 1024
const TIMEOUT_MS = 10_000

/**
 * Reads the client metadata document that the service publishes for an active agent.
 * @param tail the 24 characters at the end of its DID
 * @throws Failure UNREACHABLE, NO_ANSWER, UNEXPECTED_ANSWER
 */
export async function readClientMetadata(cli: Invocation, tail: string): Promise<ClientMetadata> {
  const url = new URL(`/agent/${tail}/client.json`, cli.service)
  const document = await fetchJson(cli, url)
  const { client_id: clientId, jwks_uri: keySet } = (document ?? {}) as Record<string, unknown>
  // The path only: the service may be reached at an internal address.
  const isOfAgent = typeof clientId === 'string' && URL.parse(clientId)?.pathname === url.pathname
  if (isOfAgent && typeof keySet === 'string' && URL.canParse(keySet)) return { clientId, keySet }
  throw unexpectedAnswer(cli.service, `has no client metadata document at ${url.pathname}`)
}

/** @returns undefined for a response that is no JSON, no success or too large */
async function fetchJson(cli: Invocation, url: URL): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await cli.fetch(url, { redirect: 'manual', signal })
    const body = await readBody(response, MAX_BYTES)
    if (response.status !== 200 || body === null || body === 'too-large') return undefined
    return parseJson(body)
  } catch (cause) {
    throw noResponse(url.href, cause)
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
