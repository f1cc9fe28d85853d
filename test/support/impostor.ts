import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './until.ts'

interface Cleanup {
  after(end: () => unknown): void
}

/** Something on HTTP, for the length of a test. @returns its origin */
export async function startSite(t: Cleanup, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** One answer of an impostor. */
export interface Line {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, unless it is text. */
  readonly body?: unknown
  /** What happens instead of an answer. */
  readonly instead?: 'hang' | 'drop'
}

/** Something that takes the place of a service and answers from a script; the last line is repeated. */
export interface Impostor {
  readonly url: string
  /** What it was asked, in order. */
  readonly asked: readonly IncomingMessage[]
  /** Waits until it was asked so often. */
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

/** A lookup as a service answers it. */
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

/** A refusal as a service answers it. */
export function refusal(code: string) {
  return { error: { code, message: 'No.', requestId: 'req_1' } }
}
