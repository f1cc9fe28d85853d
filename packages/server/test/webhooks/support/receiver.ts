import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Cleanup } from '../../../../../test/support/service.ts'

/** A delivery as it arrived. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** How a receiver answers: a status, or anything. */
export type Behaviour = number | ((response: ServerResponse, received: Received) => void)

/** A site that receives webhooks, by plain HTTP on loopback. */
export interface Receiver {
  readonly url: string
  readonly port: number
  /** All requests, in order. */
  readonly received: Received[]
  behaviour: Behaviour
}

export async function startReceiver(t: Cleanup): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request
    const each = { path, headers, body: await text(request) }
    receiver.received.push(each)
    const { behaviour } = receiver
    if (typeof behaviour === 'function') behaviour(response, each)
    else response.writeHead(behaviour).end()
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://localhost:${port}/hook`
  const receiver: Receiver = { url, port, received: [], behaviour: 204 }
  return receiver
}

/** The payload of a delivery. */
export interface Payload {
  readonly type: string
  readonly timestamp: string
  readonly data: {
    readonly endpoint: string
    readonly seq?: number
    readonly svcDid?: string
    readonly url?: string
  }
}

export function payloadOf({ body }: Received): Payload {
  return JSON.parse(body) as Payload
}

/** The signature of a version, decoded. */
export function signatureOf({ headers }: Received, version: 'v1' | 'v1a'): Buffer {
  const all = String(headers['webhook-signature']).split(' ')
  const own = all.find((each) => each.startsWith(`${version},`)) ?? ''
  return Buffer.from(own.slice(version.length + 1), 'base64')
}

/** The bytes that both signatures cover (standardwebhooks.com). */
export function signedBytesOf({ headers, body }: Received): Buffer {
  return Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
}
