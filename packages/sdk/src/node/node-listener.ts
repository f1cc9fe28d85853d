import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyOf, type ParsedRequest } from './request-body.ts'

/** A request of Fastify, as far as it is used here. */
export interface FastifyLikeRequest {
  readonly raw: IncomingMessage
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** A reply of Fastify, as far as it is used here. */
export interface FastifyLikeReply {
  readonly raw: ServerResponse
  code(status: number): unknown
  header(name: string, value: string): unknown
  send(body: Uint8Array): unknown
}

/** Takes what node:http and Express, or Fastify, pass to a handler. */
export interface NodeListener {
  (request: IncomingMessage, response: ServerResponse): void
  (request: FastifyLikeRequest, reply: FastifyLikeReply): void
}

/**
 * Adapts a handler of `Request` and `Response` to `createServer` of node:http, Express and Fastify. Bun, Deno, Workers,
 * Hono and Next.js's route handlers need no adapter. Bodies may have been read by a parser: JSON and forms are written
 * again. An error of the handler is printed and answered with 500.
 * @param origin of your site, such as `https://shop.example`, for `request.url`. Never take it from the Host header
 */
export function nodeListener(
  origin: string,
  handler: (request: Request) => Response | Promise<Response>,
): NodeListener {
  return (
    request: IncomingMessage | FastifyLikeRequest,
    response: ServerResponse | FastifyLikeReply,
  ) => {
    const { incoming, body, rawBody } = partsOf(request)
    const answer = 'raw' in response ? answerOfFastify(response) : answerOfNode(response)
    const outgoing = 'raw' in response ? response.raw : response
    const respond = async () => {
      const response = await handler(requestOf(origin, incoming, outgoing, body, rawBody))
      // The handler did not read all of the body, and nobody will.
      if (incoming.httpVersionMajor === 1 && !incoming.complete)
        outgoing.setHeader('connection', 'close')
      await answer(response)
    }
    respond().catch((error) => {
      console.error(error)
      if (outgoing.headersSent) outgoing.end()
      else void answer(new Response(null, { status: 500 }))
    })
  }
}

function partsOf(request: IncomingMessage | FastifyLikeRequest) {
  const { body, rawBody } = request as ParsedRequest
  return { incoming: 'raw' in request ? request.raw : request, body, rawBody }
}

type Answer = (response: Response) => Promise<void>

function answerOfNode(outgoing: ServerResponse): Answer {
  return async (response) => {
    const body = Buffer.from(await response.arrayBuffer())
    outgoing.statusCode = response.status
    // Each Set-Cookie is a header of its own.
    for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
    outgoing.end(body)
  }
}

/** Answers through Fastify, so that its hooks run. */
function answerOfFastify(reply: FastifyLikeReply): Answer {
  return async (response) => {
    const body = Buffer.from(await response.arrayBuffer())
    reply.code(response.status)
    for (const [name, value] of response.headers) reply.header(name, value)
    reply.send(body)
  }
}

function requestOf(
  origin: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  parsed: unknown,
  rawBody: unknown,
): Request {
  const { method = 'GET', headersDistinct } = incoming
  const { content, isRewritten } = bodyOf(incoming, parsed, rawBody)
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    if (isRewritten && OF_SENT_BODY.includes(name)) continue
    for (const value of values) headers.append(name, value)
  }
  const ended = new AbortController()
  outgoing.once('close', () => ended.abort())
  // Express strips the path of a router from `url`.
  const { originalUrl, url = '/' } = incoming as IncomingMessage & { originalUrl?: string }
  const sent = originalUrl ?? url
  // A request target such as `//elsewhere` must not be read as another host.
  const target = new URL(origin + (sent.startsWith('/') ? sent : `/${sent}`))
  return new Request(target, {
    method,
    headers,
    body: content,
    duplex: 'half',
    signal: ended.signal,
  } as RequestInit)
}

/** Headers about the bytes that were sent, which a restored body does not have. */
const OF_SENT_BODY: readonly string[] = ['content-length', 'content-encoding', 'transfer-encoding']
