import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import type { TestContext } from 'node:test'
import type { TestDns } from '../../../../../test/support/dns-server.ts'
import { DnsClient } from '../../../src/core/network/dns-client.ts'
import { type FetchOptions, fetchPage } from '../../../src/core/network/fetch-page.ts'
import { type Page, ProofAbsent, Unreachable } from '../../../src/core/network/perspective.ts'

/** What came of looking: a page or records, or which of the two errors, in which words. */
export type Seen<T> =
  | { readonly found: T }
  | { readonly error: 'ProofAbsent' | 'Unreachable'; readonly words: string }

/** @throws what is neither of the two errors that an owner is told of */
export async function seen<T>(work: Promise<T>): Promise<Seen<T>> {
  try {
    return { found: await work }
  } catch (error) {
    if (error instanceof ProofAbsent || error instanceof Unreachable) {
      return { error: error.name, words: error.message }
    }
    throw error
  }
}

/** A perspective with rules that a test changes: its port, its patience, its network. */
export function openTestPerspective(
  t: TestContext,
  dns: TestDns,
  changed: Partial<FetchOptions> = {},
) {
  // The server is in this process: one that stands still for a moment must not pass for a silent one.
  const view = new DnsClient(dns.address, { timeoutMs: 10_000, tries: 1 })
  t.after(() => view.close())
  const rules: FetchOptions = {
    addressesOf: (host) => view.addresses(host),
    loopbackHosts: new Map(),
    port: 443,
    dial: connect,
    userAgent: 'Countersign/test',
    timeLimitMs: 10_000,
    ...changed,
  }
  return {
    view,
    get: (url: string, end = new AbortController().signal): Promise<Seen<Page>> =>
      seen(fetchPage(new URL(url), 'text/plain', rules, end)),
  }
}

/** Sings when somebody connects to it, whatever address of this machine they came by. */
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
