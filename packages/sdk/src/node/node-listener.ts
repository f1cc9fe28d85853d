import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

/**
 * Adapts a handler of `Request` and `Response` to `createServer` of node:http. Bun, Deno, Workers and Hono need no adapter.
 * An error of the handler is printed and answered with 500.
 * @param origin of your site, such as `https://shop.example`, for `request.url`. Never take it from the Host header
 */
export function nodeListener(
  origin: string,
  handler: (request: Request) => Response | Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (incoming, outgoing) => {
    respond(origin, handler, incoming, outgoing).catch((error) => {
      console.error(error)
      if (!outgoing.headersSent) outgoing.writeHead(500)
      outgoing.end()
    })
  }
}

async function respond(
  origin: string,
  handler: (request: Request) => Response | Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const response = await handler(requestOf(origin, incoming, outgoing))
  outgoing.statusCode = response.status
  // Each Set-Cookie is a header of its own.
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}

function requestOf(origin: string, incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const { method = 'GET', url = '/', headersDistinct } = incoming
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  const ended = new AbortController()
  outgoing.once('close', () => ended.abort())
  const bodiless = method === 'GET' || method === 'HEAD'
  const body = bodiless ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>)
  // A request target such as `//elsewhere` must not be read as another host.
  const target = new URL(origin + (url.startsWith('/') ? url : `/${url}`))
  return new Request(target, {
    method,
    headers,
    body,
    duplex: 'half',
    signal: ended.signal,
  } as RequestInit)
}
