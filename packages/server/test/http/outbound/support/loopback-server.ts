import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Strings and bytes are sent as they stand, anything else as JSON; `never`: the connection stays open and silent. */
export type Answer =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | 'never'

export interface LoopbackServer {
  readonly url: string
  /** Whatever was asked, in order. */
  readonly received: Received[]
}

/** A server on loopback that ends with the test, even if clients are connected. */
export async function startLoopbackServer(
  t: { after(end: () => unknown): void },
  answer: (request: Received) => Answer | Promise<Answer>,
): Promise<LoopbackServer> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://loopback')
      const seen: Received = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      received.push(seen)
      void Promise.resolve(answer(seen)).then((each) => reply(response, each))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

function reply(response: ServerResponse, answer: Answer): void {
  if (answer === 'never') return
  const { status, body, headers } = answer
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  const asIs = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  response.end(asIs ? body : JSON.stringify(body))
}
