import { lookup } from 'node:dns/promises'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** The HTTP servers of one app: one for each address of the host name, since `localhost` has two. */
export class Listeners {
  readonly connections = new Connections()
  readonly #others: Server[] = []
  readonly #stalled = setInterval(
    () => this.connections.endStalled(performance.now()),
    CHECK_STALLED_MS,
  ).unref()
  readonly #addressesOf: (host: string) => Promise<string[]>
  #createAnother: (() => Server) | null = null

  /** @param addressesOf resolves a host name to all its addresses */
  constructor(addressesOf = resolveAll) {
    this.#addressesOf = addressesOf
  }

  /** @param server the app's own server @param createAnother creates one with the same options and handler */
  addServer(server: Server, createAnother: () => Server): void {
    this.connections.track(server)
    this.#createAnother = createAnother
  }

  /** Listens on all addresses of the host, on the same port. @returns the URL of the first */
  async listen(app: FastifyInstance, host: string, port: number): Promise<string> {
    const [first, ...others] = await this.#addressesOf(host)
    const url = await app.listen({ host: first ?? host, port })
    const { port: boundPort } = app.server.address() as AddressInfo
    for (const address of others) await this.#listenOn(address, boundPort)
    return url
  }

  /** Waits for the requests in progress, then closes all servers. */
  async close(app: FastifyInstance): Promise<void> {
    clearInterval(this.#stalled)
    const stopClosing = this.connections.closeAll()
    const closed = this.#others.map((each) => new Promise((resolve) => each.close(resolve)))
    await Promise.all([app.close(), ...closed])
    stopClosing()
  }

  /** Skips an address that this machine does not have, most often because IPv6 is switched off. */
  async #listenOn(address: string, port: number): Promise<void> {
    const server = this.#createAnother?.()
    if (server === undefined) return
    const listening = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'
          ? resolve(false)
          : reject(error),
      )
      server.listen(port, address, () => resolve(true))
    })
    if (!listening) return
    this.connections.track(server)
    this.#others.push(server)
  }
}

async function resolveAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

const CLOSE_IDLE_MS = 50
/** The first request of a new connection may be on its way. */
const UNUSED_GRACE_MS = 1000
/** After this time, open connections are destroyed. */
const DEADLINE_MS = 10_000

const CHECK_STALLED_MS = 5000
/** How long a client may read nothing of what waits for it. */
const STALLED_MS = 30_000

/** How much of the output the kernel has taken. The public `bytesWritten` also counts what waits in this process. */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as {
    _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
  }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}

/** Tracks the connections of the servers, so that a stop can close each at the right time. */
class Connections {
  readonly #servers: Server[] = []
  readonly #sockets = new Set<Socket>()
  /** Those with output that waits, and since when the client has read nothing. */
  readonly #waiting = new Map<Socket, { readonly bytes: number; readonly since: number }>()

  track(server: Server): void {
    this.#servers.push(server)
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#waiting.delete(socket)
      })
    })
  }

  /** Destroys connections with output that waits while the client reads nothing. Call it every few seconds. */
  endStalled(now: number): void {
    for (const socket of this.#sockets) {
      if (socket.writableLength === 0) {
        this.#waiting.delete(socket)
        continue
      }
      const bytes = bytesTaken(socket)
      const waiting = this.#waiting.get(socket)
      if (waiting === undefined || waiting.bytes !== bytes) {
        this.#waiting.set(socket, { bytes, since: now })
      } else if (now - waiting.since >= STALLED_MS) socket.destroy()
    }
  }

  /** Closes connections as they become idle, then those that were never used, and at the deadline all. @returns stops this */
  closeAll(): () => void {
    const idle = setInterval(() => {
      for (const server of this.#servers) server.closeIdleConnections()
    }, CLOSE_IDLE_MS)
    const unused = setTimeout(() => {
      for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    }, UNUSED_GRACE_MS)
    const deadline = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, DEADLINE_MS)
    return () => {
      clearInterval(idle)
      clearTimeout(unused)
      clearTimeout(deadline)
    }
  }
}
