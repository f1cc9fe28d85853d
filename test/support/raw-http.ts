import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Answer } from './answer.ts'

/** Everything received on a connection. */
export interface RawExchange {
  /** In the order received, including interim responses (1xx). */
  readonly answers: readonly Answer[]
  /** Bytes after the last complete response. */
  readonly rest: string
  /** Whether the service closed the connection. */
  readonly closed: boolean
}

export interface RawOptions {
  /** Return after this many complete responses; by default when the service closes the connection. */
  readonly count?: number
  /** The requests are HEAD, so that responses have no body whatever their headers say. */
  readonly head?: boolean
  /** Whether to half-close the connection after writing. */
  readonly end?: boolean
  readonly patienceMs?: number
}

const PATIENCE_MS = 30_000

/**
 * Sends raw bytes to a service, for requests that no HTTP client would send, and reads the responses.
 * @param bytes text is encoded as Latin-1
 * @throws Error if the service neither responds nor closes in time
 */
export async function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  options: RawOptions = {},
): Promise<RawExchange> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  if (options.end) socket.end()
  try {
    return await readAnswers(socket, options)
  } finally {
    socket.destroy()
  }
}

/** The only response. @throws Error if there is none or more than one */
export function only(answers: readonly Answer[]): Answer {
  const [answer, ...more] = answers
  if (answer === undefined || more.length > 0) throw new Error(`${answers.length} answers for one`)
  return answer
}

function readAnswers(
  socket: Socket,
  { count = Number.POSITIVE_INFINITY, head = false, patienceMs = PATIENCE_MS }: RawOptions,
): Promise<RawExchange> {
  let received = Buffer.alloc(0)
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no end after ${received}`)), patienceMs)
    const end = (closed: boolean) => {
      clearTimeout(late)
      resolve({ ...parse(received, head), closed })
    }
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const isWhole =
        count < Number.POSITIVE_INFINITY && parse(received, head).answers.length >= count
      if (isWhole) end(false)
    })
    socket.on('end', () => end(true))
    // A service that refuses early may reset a connection on which bytes still arrive.
    socket.on('error', () => end(true))
  })
}

/** Splits the received bytes into responses (RFC 9112 section 6: by status, Content-Length or chunks). */
function parse(bytes: Buffer, head: boolean): { answers: Answer[]; rest: string } {
  const answers: Answer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) break
    const { status, headers } = parseHead(bytes.toString('latin1', at, end))
    const bare = head || status < 200 || status === 204 || status === 304
    const body = bare ? { text: '', end: end + 4 } : parseBody(bytes, end + 4, headers)
    if (body === null) break
    answers.push({ status, headers, text: body.text })
    at = body.end
  }
  return { answers, rest: bytes.toString('latin1', at) }
}

function parseHead(head: string): { status: number; headers: Headers } {
  const [line, ...fields] = head.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(line as string)?.[1]
  if (status === undefined) throw new Error(`this is no status line: ${line}`)
  const headers = new Headers()
  for (const field of fields) {
    const colon = field.indexOf(':')
    headers.append(field.slice(0, colon), field.slice(colon + 1).trim())
  }
  return { status: Number(status), headers }
}

/** @returns null if the body is incomplete */
function parseBody(
  bytes: Buffer,
  from: number,
  headers: Headers,
): { text: string; end: number } | null {
  if (headers.get('transfer-encoding') === 'chunked') return parseChunks(bytes, from)
  const end = from + Number(headers.get('content-length') ?? 0)
  return end > bytes.length ? null : { text: bytes.toString('utf8', from, end), end }
}

function parseChunks(bytes: Buffer, from: number): { text: string; end: number } | null {
  const chunks: Buffer[] = []
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size + 2
    if (end > bytes.length) return null
    chunks.push(bytes.subarray(line + 2, end - 2))
    if (size === 0) return { text: Buffer.concat(chunks).toString('utf8'), end }
    at = end
  }
}
