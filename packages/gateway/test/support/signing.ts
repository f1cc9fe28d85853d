import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Agent, memoryNonceStore, newKey, Registry } from '@countersign/sdk'
import type { TestService } from '../../../../test/support/service.ts'

export const SHOP = 'https://shop.example'

/** A nonce store that is older than every request of a test. */
export function olderNonceStore(maxEntries?: number) {
  let now = () => Date.now() - 3_600_000
  const store = memoryNonceStore(maxEntries, () => now())
  now = Date.now
  return store
}

/** An agent that signs requests to the audiences. Its owner is verified. */
export async function signingAgent(service: TestService, audiences: readonly string[] = [SHOP]) {
  const registry = new Registry(service.url)
  const agent = new Agent({ registry, signer: await newKey(), audiences })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  return { agent, did, registry, owner }
}

export interface SentAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** What to send otherwise than it was signed. */
export interface Changes {
  readonly method?: string
  readonly target?: string
  readonly host?: string
  /** Replaced; several values are sent as several lines, none removes it. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
}

/** Sends a request to a server on loopback with the `Host` that it was signed for. */
export async function send(url: string, request: Request, changes: Changes = {}) {
  const address = new URL(request.url)
  const target = changes.target ?? request.url.slice(address.origin.length)
  const body = changes.body ?? (await request.clone().text())
  const headers: Record<string, string | string[]> = {
    ...Object.fromEntries(request.headers),
    host: changes.host ?? address.host,
  }
  for (const [name, value] of Object.entries(changes.headers ?? {})) {
    if (value.length === 0) delete headers[name]
    else headers[name] = typeof value === 'string' ? value : [...value]
  }
  if (body !== '') headers['content-length'] = String(Buffer.byteLength(body))
  const { hostname, port } = new URL(url)
  return new Promise<SentAnswer>((resolve, reject) => {
    httpRequest(
      { hostname, port, path: target, method: changes.method ?? request.method, headers },
      async (response) => {
        const text = (await buffer(response)).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      },
    )
      .once('error', reject)
      .end(body)
  })
}
