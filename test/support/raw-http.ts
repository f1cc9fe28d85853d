import { once } from 'node:events'
import { connect } from 'node:net'

/** One response as it came over the wire. */
export interface RawResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** What a connection brought back. */
export interface RawExchange {
  /** In the order in which they came; interim ones (1xx) among them. */
  readonly responses: readonly RawResponse[]
  /** Bytes after the last whole response. */
  readonly rest: string
  /** Whether the other side ended the connection. */
  readonly closed: boolean
}

export interface RawOptions {
  /** Ends the wait once this many responses are whole; otherwise it lasts until the other side closes. */
  readonly count?: number
  /** The responses answer HEAD requests: they have no body whatever their headers say. */
  readonly head?: boolean
}

const PATIENCE_MS = 5000

/**
 * Writes bytes to a service as they are, and reads the answers: what no HTTP client would send.
 * @param chunks each is written when the one before has gone out
 * @throws Error where the answers do not come in time
 */
export async function sendRaw(
  url: string,
  chunks: string | Uint8Array | readonly (string | Uint8Array)[],
  { count, head = false }: RawOptions = {},
): Promise<RawExchange> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let bytes = Buffer.alloc(0)
  let closed = false
  const done = new Promise<void>((resolve) => {
    const check = () => {
      if (count !== undefined && parse(bytes, head).responses.length >= count) resolve()
    }
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      check()
    })
    socket.on('end', () => {
      closed = true
      resolve()
    })
    // A server that refuses early may reset the connection while the rest is still being written.
    socket.on('error', () => resolve())
    socket.on('close', () => resolve())
  })
  const late = setTimeout(() => socket.destroy(new Error('late')), PATIENCE_MS)
  await once(socket, 'connect')
  for (const chunk of [chunks].flat() as (string | Uint8Array)[]) {
    await new Promise<void>((resolve) => socket.write(chunk, () => resolve()))
  }
  await done
  clearTimeout(late)
  socket.destroy()
  return { ...parse(bytes, head), closed }
}

/** Splits what came into responses (RFC 9112: by Content-Length or by chunks). */
function parse(bytes: Buffer, head: boolean): { responses: RawResponse[]; rest: string } {
  const responses: RawResponse[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) break
    const { status, headers } = parseHead(bytes.toString('latin1', at, end))
    const body =
      head || status < 200 || status === 204 || status === 304
        ? { bytes: Buffer.alloc(0), end: end + 4 }
        : parseBody(bytes, end + 4, headers)
    if (body === null) break
    responses.push({ status, headers, text: body.bytes.toString('utf8') })
    at = body.end
  }
  return { responses, rest: bytes.toString('latin1', at) }
}

function parseHead(head: string): { status: number; headers: Headers } {
  const [line, ...fields] = head.split('\r\n')
  const match = /^HTTP\/1\.[01] (\d{3}) /.exec(line as string)
  if (match === null) throw new Error(`no status line: ${line}`)
  const headers = new Headers()
  for (const field of fields) {
    const colon = field.indexOf(':')
    headers.append(field.slice(0, colon), field.slice(colon + 1).trim())
  }
  return { status: Number(match[1]), headers }
}

function parseBody(bytes: Buffer, from: number, headers: Headers) {
  if (headers.get('transfer-encoding') === 'chunked') return parseChunks(bytes, from)
  const end = from + Number(headers.get('content-length') ?? 0)
  return end > bytes.length ? null : { bytes: bytes.subarray(from, end), end }
}

function parseChunks(bytes: Buffer, from: number): { bytes: Buffer; end: number } | null {
  const chunks: Buffer[] = []
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size + 2
    if (end > bytes.length) return null
    chunks.push(bytes.subarray(line + 2, end - 2))
    if (size === 0) return { bytes: Buffer.concat(chunks), end }
    at = end
  }
}
