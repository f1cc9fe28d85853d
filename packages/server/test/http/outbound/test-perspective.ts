import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import type { TestContext } from 'node:test'
import type { TestDns } from '../../../../../test/support/dns-server.ts'
import { DnsClient } from '../../../src/http/outbound/dns-client.ts'
import { type FetchOptions, fetchPage } from '../../../src/http/outbound/fetch-page.ts'
import { type Page, ProofAbsent, Unreachable } from '../../../src/http/outbound/perspective.ts'

/** The outcome of a query or fetch: its result, or one of the two errors with its message. */
export type Outcome<T> =
  | { readonly found: T }
  | { readonly error: 'ProofAbsent' | 'Unreachable'; readonly message: string }

/** @throws errors other than ProofAbsent and Unreachable */
export async function outcomeOf<T>(work: Promise<T>): Promise<Outcome<T>> {
  try {
    return { found: await work }
  } catch (error) {
    if (error instanceof ProofAbsent || error instanceof Unreachable) {
      return { error: error.name, message: error.message }
    }
    throw error
  }
}

/** A perspective whose options a test can change: port, time limit, network. */
export function openTestPerspective(
  t: TestContext,
  dns: TestDns,
  overrides: Partial<FetchOptions> = {},
) {
  // The DNS server is in this process: a short pause of the process must not look like a time-out.
  const view = new DnsClient(dns.address, { timeoutMs: 10_000, tries: 1 })
  t.after(() => view.close())
  const options: FetchOptions = {
    addressesOf: (host) => view.addresses(host),
    loopbackHosts: new Map(),
    port: 443,
    dial: connect,
    userAgent: 'Countersign/test',
    timeLimitMs: 10_000,
    ...overrides,
  }
  return {
    view,
    get: (url: string, end = new AbortController().signal): Promise<Outcome<Page>> =>
      outcomeOf(fetchPage(new URL(url), 'text/plain', options, end)),
  }
}

/** Counts connections to any address of this machine. */
export interface Canary {
  readonly port: number
  connections: number
  bytes: number
}

export async function startCanary(t: TestContext, host = '::', port = 0): Promise<Canary> {
  const server = createServer((socket) => {
    canary.connections++
    socket.on('data', (chunk) => {
      canary.bytes += chunk.length
      socket.destroy()
    })
    socket.on('error', () => undefined)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const canary: Canary = { port: portOf(server), connections: 0, bytes: 0 }
  t.after(() => server.close())
  return canary
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
