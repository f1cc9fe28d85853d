import { connect } from 'node:net'
import { DnsView } from './dns-view.ts'
import { fetchPage } from './fetch-page.ts'
import type { Perspective } from './perspective.ts'
import { inTime } from './timeout.ts'

const HTTPS_PORT = 443
const TIME_LIMIT_MS = 10_000

export interface OutsideSettings {
  /** DNS servers by address, with a port where it is not 53: each is a perspective. */
  readonly dnsResolvers: readonly string[]
  /** Development only: hosts that have to be on loopback, and the port there in the place of 443. */
  readonly loopbackHosts: ReadonlyMap<string, number>
}

export interface Perspectives {
  readonly all: readonly Perspective[]
  /** Ends what is under way, as Unreachable. */
  close(): Promise<void>
}

/**
 * The views of the outside world that the settings ask for.
 * @param userAgent what a host is told of who asks
 */
export function openPerspectives(
  { dnsResolvers, loopbackHosts }: OutsideSettings,
  userAgent = 'Countersign',
): Perspectives {
  const end = new AbortController()
  const views = dnsResolvers.map((server) => ({ server, dns: new DnsView(server) }))
  return {
    all: views.map(({ server, dns }) => {
      const rules = {
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
          const signal = AbortSignal.any([end.signal, AbortSignal.timeout(TIME_LIMIT_MS)])
          return inTime(name, signal, dns.txt(name))
        },
        get: (url, accept) => fetchPage(url, accept, rules, end.signal),
      }
    }),
    async close() {
      end.abort()
      for (const { dns } of views) dns.close()
    },
  }
}
