import { connect, type Socket } from 'node:net'
import { HOST } from './http-exchange.ts'
import { quantile } from './statistics.ts'

export interface SendTask {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** The bytes of the next request, or null if there are no more. */
  readonly next: () => Buffer | null
}

export interface SendResult {
  readonly requests: number
  /** Seconds until the last response. */
  readonly seconds: number
  /** Responses with another status than 200. */
  readonly refused: number
  /** The first of those. */
  readonly firstRefusal: string | null
  readonly p50: number
  readonly p99: number
}

/**
 * Sends each request once over keep-alive connections, with one request in flight on each. For requests that cannot
 * be repeated. Ends when the time or the requests are used up and all responses have arrived.
 * @throws Error if a connection breaks
 */
export async function sendRequests(task: SendTask): Promise<SendResult> {
  const sockets = await Promise.all(Array.from({ length: task.connections }, () => open(task.port)))
  const times: number[] = []
  const refusals: string[] = []
  const started = performance.now()
  const deadline = started + task.seconds * 1000
  await Promise.all(
    sockets.map((socket) =>
      work(socket, () => (performance.now() < deadline ? task.next() : null)),
    ),
  )
  const seconds = (performance.now() - started) / 1000
  for (const socket of sockets) socket.destroy()
  return {
    requests: times.length,
    seconds,
    refused: refusals.length,
    firstRefusal: refusals[0] ?? null,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  }

  function work(socket: Socket, next: () => Buffer | null): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      let sent = 0
      let pending = ''
      const send = () => {
        const request = next()
        if (request === null) return resolve()
        sent = performance.now()
        socket.write(request)
      }
      socket.on('data', (chunk) => {
        pending += chunk.toString('latin1')
        const whole = isComplete(pending)
        if (whole === null) return reject(new Error(`an answer without its length: ${pending}`))
        if (!whole) return
        times.push(performance.now() - sent)
        if (!pending.startsWith('HTTP/1.1 200 ')) refusals.push(pending)
        pending = ''
        send()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server closed a connection')))
      send()
    })
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Whether a response is complete; null if it declares no length. */
function isComplete(answer: string): boolean | null {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1]
  if (length === undefined) return null
  return answer.length >= end + 4 + Number(length)
}
