import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from './service.ts'
import { until } from './until.ts'

/** Starts an HTTP server for the duration of a test. @returns its origin */
export async function startSite(t: Cleanup, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** One scripted response of an impostor. */
export interface Line {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; text is sent unchanged. */
  readonly body?: unknown
  /** What happens instead of a response. */
  readonly instead?: 'hang' | 'drop'
}

/** A stub of a service with scripted responses, the last of which is repeated. */
export interface Impostor {
  readonly url: string
  /** The requests it received, in order. */
  readonly asked: readonly IncomingMessage[]
  /** Waits until it has received this many requests. */
  untilAsked(times: number): Promise<void>
}

export async function startImpostor(t: Cleanup, ...script: readonly Line[]): Promise<Impostor> {
  const asked: IncomingMessage[] = []
  const url = await startSite(t, (request, response) => {
    const line = script[Math.min(asked.length, script.length - 1)] ?? {}
    asked.push(request)
    request.resume()
    if (line.instead === 'drop') request.socket.destroy()
    if (line.instead !== undefined) return
    const { status = 200, headers = {}, body } = line
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const bodiless = status === 304 || body === undefined
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(bodiless ? undefined : text)
  })
  return {
    url,
    asked,
    untilAsked: (times) => until(async () => asked.length >= times),
  }
}

export const DID = `svc:agent:${'A'.repeat(24)}`

/** The body of a lookup response. */
export function lookupBody(status = 'active') {
  return {
    verified: status === 'active',
    owner: {
      identityMethod: 'in-person',
      identityLevel: 'verified',
      claimedAt: '2026-01-02T03:04:05.678Z',
    },
    certificate: { id: DID, status, verifyUrl: `/agent/${DID}` },
  }
}

/** The body of an error response. */
export function refusal(code: string) {
  return { error: { code, message: 'No.', requestId: 'req_1' } }
}
