import { lookup } from 'node:dns/promises'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** The servers of one app: one for each address that the host's name has, since `localhost` has two. */
export class Listeners {
  readonly connections = new Connections()
  readonly #others: Server[] = []
  readonly #addressesOf: (host: string) => Promise<string[]>
  #another: (() => Server) | null = null

  /** @param addressesOf resolves a host name to all its addresses */
  constructor(addressesOf = resolveAll) {
    this.#addressesOf = addressesOf
  }

  /** Takes the app's own server in, and how to make more like it. */
  watch(server: Server, another: () => Server): void {
    this.connections.watch(server)
    this.#another = another
  }

  /** @returns where the first address listens */
  async listen(app: FastifyInstance, host: string, port: number): Promise<string> {
    const [first, ...others] = await this.#addressesOf(host)
    const url = await app.listen({ host: first ?? host, port })
    const taken = (app.server.address() as AddressInfo).port
    for (const address of others) await this.#listenToo(address, taken)
    return url
  }

  /** Lets the requests under way end, and with them the servers. */
  async close(app: FastifyInstance): Promise<void> {
    const allEnded = this.connections.endAll()
    const closed = this.#others.map((each) => new Promise((resolve) => each.close(resolve)))
    await Promise.all([app.close(), ...closed])
    allEnded()
  }

  /** A name may have an address that this machine lacks: IPv6 switched off, most often. */
  async #listenToo(address: string, port: number): Promise<void> {
    const server = this.#another?.()
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
    this.connections.watch(server)
    this.#others.push(server)
  }
}

async function resolveAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

const CLOSE_IDLE_MS = 50
/** A connection that has said nothing may have its first request on the way: so long it is waited for. */
const SILENT_MS = 1000
/** After this long, whatever is still open is cut. */
const DEADLINE_MS = 10_000

/** The connections of the service's servers, so that a stop can end each at its time. */
class Connections {
  readonly #servers: Server[] = []
  readonly #sockets = new Set<Socket>()

  watch(server: Server): void {
    this.#servers.push(server)
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Ends connections as they fall idle, then the silent ones, at last all. @returns stops doing so */
  endAll(): () => void {
    const idle = setInterval(() => {
      for (const server of this.#servers) server.closeIdleConnections()
    }, CLOSE_IDLE_MS)
    const silent = setTimeout(() => {
      for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SILENT_MS)
    const deadline = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, DEADLINE_MS)
    return () => {
      clearInterval(idle)
      clearTimeout(silent)
      clearTimeout(deadline)
    }
  }
}
