import { connect } from 'node:net'
import { DnsClient } from './dns-client.ts'
import { fetchPage } from './fetch-page.ts'
import { withNetworkErrors } from './network-errors.ts'
import type { Perspective } from './perspective.ts'

const HTTPS_PORT = 443
const TIME_LIMIT_MS = 10_000

export interface PerspectiveSettings {
  /** DNS servers by address, with a port if it is not 53. Each is one perspective. */
  readonly dnsResolvers: readonly string[]
  /** For development: hosts that must resolve to loopback, with the port to use there instead of 443. */
  readonly loopbackHosts: ReadonlyMap<string, number>
}

export interface Perspectives {
  readonly all: readonly Perspective[]
  /** Aborts requests in progress: they reject with Unreachable. */
  close(): Promise<void>
}

/**
 * Opens one perspective for each configured DNS server.
 * @param userAgent the `User-Agent` of all requests
 */
export function openPerspectives(
  { dnsResolvers, loopbackHosts }: PerspectiveSettings,
  userAgent = 'Countersign',
): Perspectives {
  const closing = new AbortController()
  const clients = dnsResolvers.map((server) => ({ server, dns: new DnsClient(server) }))
  return {
    all: clients.map(({ server, dns }) => {
      const options = {
        addressesOf: (host: string) => dns.addresses(host),
        loopbackHosts,
        port: HTTPS_PORT,
        dial: connect,
        userAgent,
        timeLimitMs: TIME_LIMIT_MS,
      }
      return {
        name: server,
        txt(name) {
          const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(TIME_LIMIT_MS)])
          return withNetworkErrors(name, signal, dns.txt(name))
        },
        get: (url, accept) => fetchPage(url, accept, options, closing.signal),
      }
    }),
    async close() {
      closing.abort()
      for (const { dns } of clients) dns.close()
    },
  }
}
