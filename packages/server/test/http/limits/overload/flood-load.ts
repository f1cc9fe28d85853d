import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * A process that floods a service: `node flood-load.ts <port> <connections> <milliseconds>`, the bytes of one request on
 * standard input. Each connection sends the request again as soon as it is answered. Prints a `FloodResult` as JSON.
 */
export interface FloodResult {
  /** Milliseconds from sending to the response, of those answered with 200, ascending. */
  readonly admitted: readonly number[]
  /** When those answers came, in milliseconds since 1970, ascending. */
  readonly admittedAt: readonly number[]
  readonly refused: number
  /** Connections that the service closed. */
  readonly closed: number
}

/** Connections come from several loopback addresses, as those of a flood do. */
const ADDRESSES = 8
/** Connections opened at once: more would overflow the listen queue. */
const OPENING = 100

const [port, connections, milliseconds] = process.argv.slice(2).map(Number) as [
  number,
  number,
  number,
]
const request = await buffer(process.stdin)
const admitted: number[] = []
const admittedAt: number[] = []
let refused = 0
let closed = 0

const sockets: Socket[] = []
for (let i = 0; i < connections; i += OPENING) {
  const count = Math.min(OPENING, connections - i)
  sockets.push(...(await Promise.all(Array.from({ length: count }, (_, j) => open(i + j)))))
}
process.stderr.write('flooding\n')
const end = performance.now() + milliseconds
await Promise.all(sockets.map(flood))
admitted.sort((a, b) => a - b)
process.stdout.write(
  JSON.stringify({ admitted, admittedAt, refused, closed } satisfies FloodResult),
)

/** Resolves after one answered request: libuv accepts a connection a poll, so others would wait in the listen queue. */
function open(number: number): Promise<Socket> {
  const localAddress = `127.0.0.${2 + (number % ADDRESSES)}`
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true })
    socket.once('error', reject)
    socket.write(request)
    socket.once('data', () => resolve(socket))
  })
}

function flood(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let sent = 0
    let pending = ''
    const send = () => {
      if (performance.now() > end) return void socket.destroy()
      sent = performance.now()
      socket.write(request)
    }
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1')
      if (!isComplete(pending)) return
      if (pending.startsWith('HTTP/1.1 200 ')) {
        admitted.push(performance.now() - sent)
        admittedAt.push(performance.timeOrigin + performance.now())
      } else refused += 1
      pending = ''
      send()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (performance.now() <= end) closed += 1
      resolve()
    })
    // A connection that is answered late must not prolong the flood.
    setTimeout(() => socket.destroy(), end + 5000 - performance.now()).unref()
    send()
  })
}

function isComplete(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1]
  return head >= 0 && answer.length >= head + 4 + Number(length)
}
