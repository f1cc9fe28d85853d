import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from './service.ts'

/** A response on its way back. Members are changed in place. */
export interface Passing {
  /** Such as `GET /api/v1/agent/…`. */
  readonly request: string
  /** The body of the request. */
  readonly sent: string
  readonly accept: string
  status: number
  headers: Record<string, string>
  text: string
}

/** What is wrong with the service behind the proxy. */
export type Breakage = (passing: Passing) => void

/** A proxy that breaks one thing of the service behind it. */
export interface BreakingProxy {
  readonly url: string
  /** The port of the service. */
  target: number
  breakage: Breakage
}

export async function startBreakingProxy(t: Cleanup): Promise<BreakingProxy> {
  const server = createServer((incoming, outgoing) => {
    pass(incoming).then(
      ({ status, headers, text }) => outgoing.writeHead(status, headers).end(text),
      () => outgoing.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const proxy: BreakingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: 0,
    breakage: () => undefined,
  }
  const pass = async (incoming: IncomingMessage): Promise<Passing> => {
    const { method = 'GET', url = '', headers } = incoming
    const body = Buffer.concat(await incoming.toArray())
    const request = `${method} ${url}`
    const sent = body.toString('utf8')
    const about = { request, sent, accept: headers.accept ?? '' }
    const { host: _, connection: __, 'content-length': ___, ...forwarded } = headers
    const response = await fetch(`http://127.0.0.1:${proxy.target}${url}`, {
      method,
      headers: forwarded as Record<string, string>,
      redirect: 'manual',
      ...(method === 'POST' ? { body } : {}),
    })
    const passing: Passing = {
      ...about,
      status: response.status,
      headers: { 'content-type': response.headers.get('content-type') ?? '' },
      text: Buffer.from(await response.arrayBuffer()).toString('utf8'),
    }
    proxy.breakage(passing)
    return passing
  }
  return proxy
}
