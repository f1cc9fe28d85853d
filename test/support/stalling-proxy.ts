import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Cleanup } from './service.ts'

/** A TCP proxy before a database, which the test can pause and disconnect. */
export interface StallingProxy {
  /** The database's URL through the proxy. */
  readonly url: string
  /** How many connections have been opened so far. */
  connections(): number
  /** Forwards nothing in either direction, without closing connections. */
  pause(): void
  /** Pauses, and silences the existing connections permanently, like a firewall that has dropped their state. */
  drop(): void
  /** Forwards again, except on dropped connections. */
  resume(): void
  /** Closes every connection. */
  cut(): void
  /** Calls the listener with everything that clients send. It may end the connection. */
  onSent(listener: OnSent): void
}

/** `cut`: the bytes still arrive, but no response comes back. `lose`: the bytes do not arrive. */
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
