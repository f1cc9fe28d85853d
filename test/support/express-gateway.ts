import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { PolicyInput } from '@countersign/gateway'
import { gateway } from '@countersign/gateway/express'
import express from 'express'
import { olderNonceStore } from './older-nonce-store.ts'
import type { Cleanup } from './service.ts'

/** A request that the gateway admitted. */
export interface Admitted {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * An Express site behind the gateway, which requires proof, with further rules. It answers with what it received; `/bytes` with bytes that are no text,
 * `/to?<address>` with a redirect, `/status/<code>` with that status.
 */
export async function startGuardedSite(t: Cleanup, service: string, rules: PolicyInput = {}) {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const app = express()
  const policy = { requireProof: true, ...rules }
  const reasons: (string | null)[] = []
  const onDecision = ({ signature }: { signature: { reason: string | null } | null }) =>
    reasons.push(signature?.reason ?? null)
  app.use(
    gateway({
      service,
      timeoutMs: 30_000,
      audiences: [url],
      policy,
      nonces: olderNonceStore(),
      onDecision,
    }),
  )
  app.use(async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request
    const [path = '', query = ''] = url.split('?')
    if (path === '/bytes') return response.end(BYTES)
    if (path === '/to')
      return response.writeHead(307, { location: decodeURIComponent(query) }).end()
    if (path.startsWith('/status/')) return response.writeHead(Number(path.slice(8))).end('why')
    const body = (await buffer(request)).toString()
    const admitted: Admitted = { method, url, headers, body }
    return response.end(JSON.stringify(admitted))
  })
  server.on('request', app as unknown as RequestListener)
  return { url, reasons }
}

/** Every byte, so not UTF-8. */
export const BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
