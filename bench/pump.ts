import { connect, type Socket } from 'node:net'
import { HOST } from './exchange.ts'
import { quantile } from './quantile.ts'

export interface PumpTask {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** The bytes of the next request, or null where there are no more. */
  readonly next: () => Buffer | null
}

export interface Pumped {
  readonly requests: number
  /** To the last answer. */
  readonly seconds: number
  /** Answers other than 200. */
  readonly refused: number
  /** The first of those. */
  readonly firstRefusal: string | null
  readonly p50: number
  readonly p99: number
}

/**
 * Sends each request once, over connections that stay open, one in flight on each: for what cannot be sent twice.
 * Ends when the time is over or the requests are, and everything sent has been answered.
 * @throws Error where a connection breaks
 */
export async function pump(task: PumpTask): Promise<Pumped> {
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
        const whole = isWhole(pending)
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

/** Whether an answer has come to its end; null where it does not say how long it is. */
function isWhole(answer: string): boolean | null {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1]
  if (length === undefined) return null
  return answer.length >= end + 4 + Number(length)
}
