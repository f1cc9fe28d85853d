import { lookup } from 'node:dns/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Connections } from './connections.ts'

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
