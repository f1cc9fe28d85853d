import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** A response body that many responses share: a `Buffer` that waits in 1,000 sockets exists once, a string is copied for each. */
export interface Rendered {
  readonly bytes: Buffer
  /** Null if compression is of no use. */
  readonly gzip: Buffer | null
  /** Without quotation marks. */
  readonly tag: string
}

/** @param compress false for what is compressed already */
export function rendered(body: string | Buffer, compress = true): Rendered {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return {
    bytes,
    gzip: compress ? gzipSync(bytes) : null,
    tag: hash('sha1', bytes, 'base64url'),
  }
}

const ENCODINGS = ['gzip', 'identity']

/** Sends a body in the encoding that the client prefers, with its ETag. `cached` of the route answers conditional requests. */
export function sendRendered(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, gzip, tag }: Rendered,
): FastifyReply {
  const vary = reply.getHeader('vary')
  if (gzip !== null) reply.header('vary', vary ? `${vary}, Accept-Encoding` : 'Accept-Encoding')
  const accepted = request.headers['accept-encoding']
  const isZipped =
    gzip !== null &&
    accepted !== undefined &&
    new Negotiator({ headers: { 'accept-encoding': accepted } }).encoding(ENCODINGS) === 'gzip'
  if (!isZipped) return reply.header('etag', `"${tag}"`).send(bytes)
  return reply.headers({ etag: `"${tag}-gzip"`, 'content-encoding': 'gzip' }).send(gzip)
}

/** Rendered bodies by what they show; beyond the limit, those go that were not asked for longest. */
export class RenderedCache {
  readonly #maxBytes: number
  readonly #known = new Map<string, Rendered>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The bytes that are kept. */
  get size(): number {
    return this.#bytes
  }

  /**
   * @param shown everything that the body depends on, as JSON
   * @param render the body, from `shown` alone
   */
  get(shown: unknown, render: () => string): Rendered {
    const key = hash('sha256', JSON.stringify(shown), 'base64url')
    const known = this.#known.get(key)
    const found = known ?? rendered(render())
    this.#known.delete(key)
    this.#known.set(key, found)
    if (known === undefined) this.#makeRoom(found)
    return found
  }

  #makeRoom(added: Rendered): void {
    this.#bytes += sizeOf(added)
    for (const [key, each] of this.#known) {
      if (this.#bytes <= this.#maxBytes) return
      this.#known.delete(key)
      this.#bytes -= sizeOf(each)
    }
  }
}

function sizeOf({ bytes, gzip }: Rendered): number {
  return bytes.length + (gzip?.length ?? 0)
}
