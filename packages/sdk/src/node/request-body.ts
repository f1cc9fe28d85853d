import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

/** A request of node:http on which a body parser has left what it read. */
export interface ParsedRequest extends IncomingMessage {
  /** What Express's parsers and Next.js's API routes set. */
  readonly body?: unknown
  /** The bytes, which some platforms provide besides. */
  readonly rawBody?: unknown
}

/** The body for a `Request`, and whether it was written again after a parser had read it. */
export interface RequestBody {
  readonly content: ReadableStream<Uint8Array> | Uint8Array | string | null
  /** If true, Content-Length and Content-Encoding of the request do not apply. */
  readonly isRewritten: boolean
}

/**
 * The body of a request, whether or not a body parser has read it: the stream if it is unread, else the bytes or the
 * text that the parser left, else its result written as JSON or as a form again.
 * @param parsed what the parser has left
 * @throws TypeError if the body was read and nothing was left from which it can be restored
 */
export function bodyOf(request: IncomingMessage, parsed: unknown, rawBody: unknown): RequestBody {
  if (request.method === 'GET' || request.method === 'HEAD') return UNCHANGED
  if (!request.readableDidRead && !request.readableEnded) {
    return {
      content: Readable.toWeb(request) as ReadableStream<Uint8Array>,
      isRewritten: false,
    }
  }
  const left = rawBody ?? parsed
  if (left instanceof Uint8Array || typeof left === 'string') {
    return { content: left, isRewritten: true }
  }
  if (left === undefined || left === null) {
    if (!hasBody(request)) return UNCHANGED
    throw new TypeError('The body of the request was already read and is no longer available.')
  }
  return { content: written(left, request.headers['content-type'] ?? ''), isRewritten: true }
}

const UNCHANGED: RequestBody = { content: null, isRewritten: false }

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function written(value: unknown, contentType: string): string {
  if (/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(contentType)) return JSON.stringify(value)
  const entries = Object.entries(value as object).flatMap(([name, each]) =>
    (Array.isArray(each) ? each : [each]).map((one): [string, string] => [name, one]),
  )
  const isForm = /^application\/x-www-form-urlencoded *(?:;|$)/i.test(contentType)
  if (isForm && entries.every(([, each]) => typeof each === 'string')) {
    return new URLSearchParams(entries).toString()
  }
  throw new TypeError(`A parsed body of the type ${contentType || 'none'} cannot be restored.`)
}
