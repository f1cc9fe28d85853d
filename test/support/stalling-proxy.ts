import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Cleanup } from './service.ts'

/** A way to a database that the test can block and cut. */
export interface StallingProxy {
  /** The same database, this way. */
  readonly url: string
  /** Nothing goes through any more, in neither direction; no connection ends. */
  pause(): void
  resume(): void
  /** Ends every connection there is. */
  cut(): void
  /** Calls with all that clients send: where it answers `cut`, that still arrives, and no answer comes back. */
  onSent(listener: (bytes: Buffer) => 'cut' | undefined): void
}

export async function startStallingProxy(t: Cleanup, database: string): Promise<StallingProxy> {
  const target = new URL(database)
  const sockets = new Set<Socket>()
  let paused = false
  let listener: (bytes: Buffer) => 'cut' | undefined = () => undefined
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      if (paused) from.pause()
      from.on('data', (bytes) => {
        if (from === client && listener(bytes) === 'cut') {
          upstream.removeAllListeners('data').end(bytes)
          upstream.resume()
          client.destroy()
        } else if (!to.destroyed) to.write(bytes)
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
  t.after(() => {
    server.close()
    cut()
  })
  const url = new URL(database)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    pause() {
      paused = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      paused = false
      for (const socket of sockets) socket.resume()
    },
    cut,
    onSent(each) {
      listener = each
    },
  }
}
