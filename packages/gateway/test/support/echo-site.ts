import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '../../../../test/support/service.ts'

/** What reached a site, as it was written on the wire: names and values in turn. */
export interface Reached {
  readonly method: string
  readonly url: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

export interface EchoSite {
  readonly port: number
  /** Everything that has reached it so far. */
  readonly reached: readonly Reached[]
}

/** A site that answers with what has reached it. */
export async function startEchoSite(t: Cleanup): Promise<EchoSite> {
  const reached: Reached[] = []
  const server = createServer(async (request, response) => {
    const each = await read(request)
    reached.push(each)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(each))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, reached }
}

async function read(request: IncomingMessage): Promise<Reached> {
  const { method = '', url = '', rawHeaders } = request
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return { method, url, fields: pairsOf(rawHeaders), body: Buffer.concat(chunks).toString() }
}

/** Names and values in turn, as pairs; names in lower case. */
export function pairsOf(rawHeaders: readonly string[]): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, i) => [
    (rawHeaders[2 * i] as string).toLowerCase(),
    rawHeaders[2 * i + 1] as string,
  ])
}
