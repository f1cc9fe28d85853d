import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from './service.ts'

/**
 * What a proxy between gateways and a service does with the feed: `pass` it on; drop all lines of changes (`drop-lines`); hold all heads
 * back (`hold-heads`), of polls too; answer polls and streams from what it had first (`replay`).
 */
export type FeedAttack = 'pass' | 'drop-lines' | 'hold-heads' | 'replay'

/** A proxy between gateways and a service. */
export interface FeedProxy {
  /** Without a slash at the end. */
  readonly url: string
  attack: FeedAttack
  /** Ends all connections. Gateways connect again. */
  cut(): void
}

/** @param upstream the service, without a slash at the end */
export async function startFeedProxy(t: Cleanup, upstream: string): Promise<FeedProxy> {
  const open = new Set<ServerResponse>()
  /** By path and query: the first answer. */
  const first = new Map<string, { status: number; body: Buffer }>()
  const server = createServer(async ({ url = '', headers }, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const stopping = new AbortController()
    response.once('close', () => stopping.abort())
    const { accept = '*/*' } = headers
    try {
      const answer = await fetch(upstream + url, { headers: { accept }, signal: stopping.signal })
      if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
        const body = Buffer.from(await answer.arrayBuffer())
        const known = first.get(url)
        if (known === undefined) first.set(url, { status: answer.status, body })
        const isHeld = proxy.attack === 'hold-heads' && url.includes('/feed')
        const given = proxy.attack === 'replay' && known ? known : { status: answer.status, body }
        response.writeHead(isHeld ? 503 : given.status).end(isHeld ? '' : given.body)
        return
      }
      response.writeHead(answer.status, { 'content-type': 'text/event-stream' })
      let text = ''
      for await (const bytes of answer.body ?? []) {
        const events = (text + Buffer.from(bytes).toString()).split('\n\n')
        text = events.pop() ?? ''
        for (const event of events) if (isPassed(event)) response.write(`${event}\n\n`)
      }
      response.end()
    } catch {
      response.destroy()
    }
  })
  const isPassed = (event: string) => {
    if (proxy.attack === 'drop-lines') return !event.includes('event: change')
    return (
      proxy.attack === 'pass' || (proxy.attack === 'hold-heads' && !event.includes('event: head'))
    )
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const proxy: FeedProxy = {
    url: `http://127.0.0.1:${port}`,
    attack: 'pass',
    cut() {
      for (const each of open) each.destroy()
    },
  }
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return proxy
}
