import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const CLOSE_IDLE_MS = 50
/** A connection that has said nothing may have its first request on the way: so long it is waited for. */
const SILENT_MS = 1000
/** After this long, whatever is still open is cut. */
const DEADLINE_MS = 10_000

/** The connections of the service's servers, so that a stop can end each at its time. */
export class Connections {
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
