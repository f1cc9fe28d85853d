import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cleanup } from '../../support/service.ts'

const ASK_EVERY_MS = 50
const PATIENCE_MS = 1000

export interface Balancer {
  readonly url: string
  /** The number of requests sent to each node. */
  readonly sent: ReadonlyMap<string, number>
  /** Requests that a node did not answer, so that the caller's connection was closed. */
  readonly dropped: () => number
  /** The longest time that a request waited for a ready node, in milliseconds. */
  readonly longestWait: () => number
}

/**
 * A typical load balancer: polls each node's `/readyz`, distributes requests among the ready nodes, and queues them
 * while none is ready. Never sends a request twice.
 * @param nodes their URLs; some may be down
 */
export async function startBalancer(t: Cleanup, nodes: readonly string[]): Promise<Balancer> {
  const upstreams = nodes.map((url) => new Upstream(url))
  const sent = new Map(nodes.map((url) => [url, 0]))
  let dropped = 0
  let longestWait = 0
  let turn = 0
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const began = performance.now()
    let ready = upstreams.filter(({ isReady }) => isReady)
    while (ready.length === 0 && !outgoing.destroyed) {
      await sleep(10)
      ready = upstreams.filter(({ isReady }) => isReady)
    }
    longestWait = Math.max(longestWait, performance.now() - began)
    const upstream = ready[turn++ % ready.length]
    if (upstream === undefined) return
    sent.set(upstream.url, (sent.get(upstream.url) ?? 0) + 1)
    upstream.send(incoming, outgoing, () => {
      dropped += 1
      outgoing.destroy()
    })
  }
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stops = upstreams.map((upstream) => upstream.watch())
  t.after(() => {
    for (const stop of stops) stop()
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, sent, dropped: () => dropped, longestWait: () => longestWait }
}

class Upstream {
  readonly url: string
  isReady = false
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: string) {
    this.url = url
  }

  /** @returns a function that stops the polling and closes all connections */
  watch(): () => void {
    let watching = true
    const look = async () => {
      while (watching) {
        const signal = AbortSignal.timeout(PATIENCE_MS)
        const response = await fetch(`${this.url}/readyz`, { signal }).catch(() => null)
        await response?.arrayBuffer().catch(() => null)
        this.isReady = response?.ok ?? false
        await sleep(ASK_EVERY_MS)
      }
    }
    void look()
    return () => {
      watching = false
      this.#agent.destroy()
    }
  }

  send(incoming: IncomingMessage, outgoing: ServerResponse, onDropped: () => void): void {
    const { method, url, headers } = incoming
    const onward = request(this.url + url, { method, headers, agent: this.#agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', onDropped)
      answer.pipe(outgoing)
    })
    onward.on('error', onDropped)
    incoming.pipe(onward)
  }
}
