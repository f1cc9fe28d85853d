import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Cleanup } from './service.ts'

/** A way to a database that the test can block and cut. */
export interface StallingProxy {
  /** The same database, this way. */
  readonly url: string
  /** How many connections have been opened so far. */
  connections(): number
  /** Nothing goes through any more, in neither direction; no connection ends. */
  pause(): void
  /** The same, and what connections there are stay silent for good, as where something on the way has forgotten them. */
  drop(): void
  /** From here on what is connected anew goes through, and whatever was not dropped. */
  resume(): void
  /** Ends every connection there is. */
  cut(): void
  /** Calls with all that clients send, and ends the connection if it says so. */
  onSent(listener: OnSent): void
}

/** `cut`: what was sent still arrives, and no answer comes back; `lose`: it does not arrive. */
type OnSent = (bytes: Buffer) => 'cut' | 'lose' | undefined

export async function startStallingProxy(t: Cleanup, database: string): Promise<StallingProxy> {
  const target = new URL(database)
  const sockets = new Set<Socket>()
  const dropped = new WeakSet<Socket>()
  let paused = false
  let connections = 0
  let listener: OnSent = () => undefined
  const server = createServer((client) => {
    connections += 1
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      if (paused) from.pause()
      from.on('data', (bytes) => {
        const verdict = from === client ? listener(bytes) : undefined
        if (verdict === undefined) {
          if (!to.destroyed) to.write(bytes)
          return
        }
        upstream.removeAllListeners('data').resume()
        if (verdict === 'cut') upstream.end(bytes)
        else upstream.destroy()
        client.destroy()
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.end()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const pause = () => {
    paused = true
    for (const socket of sockets) socket.pause()
  }
  t.after(() => {
    server.close()
    cut()
  })
  const url = new URL(database)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    connections: () => connections,
    drop() {
      pause()
      for (const socket of sockets) dropped.add(socket)
    },
    pause,
    resume() {
      paused = false
      for (const socket of sockets) if (!dropped.has(socket)) socket.resume()
    },
    cut,
    onSent(each) {
      listener = each
    },
  }
}
