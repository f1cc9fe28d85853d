import { connect, type Socket } from 'node:net'
import { isLoopback } from '@countersign/protocol'
import type { Dispatcher } from 'undici'
import { readBounded } from './bounded-fetch.ts'
import { DnsClient, withNetworkErrors } from './dns-client.ts'
import { assertAllowed, loadClient, type PerspectiveSettings } from './fetch-page.ts'
import { type ConnectOptions, guardedConnect, untilEvent, upgradeToTls } from './guarded-connect.ts'
import { firstAnswer } from './open-sender.ts'
import { Unreachable } from './perspective.ts'

const HTTPS_PORT = 443
/** For DNS, the connection and the whole response together. */
const TIME_LIMIT_MS = 10_000
const MAX_RESPONSE_BYTES = 256 * 1024
/** The statuses that have no body; `Response` rejects one. */
const WITHOUT_BODY = [204, 205, 304]

/** A request, as libraries that take a `fetch` of their own hand it over. */
interface FetchRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/**
 * Like `fetch`, for URLs that strangers have chosen: https on port 443, a host name instead of an address, public addresses only,
 * which are checked for each connection; no redirect is followed, and the response has at most 256 KiB and 10 seconds.
 */
export interface GuardedFetch {
  /** @returns the response, whatever its status. @throws ProofAbsent, Unreachable: their messages are sentences for the owner */
  fetch(url: string, request: FetchRequest): Promise<Response>
  /** Aborts requests in progress: they reject with Unreachable. */
  close(): Promise<void>
}

export interface GuardedFetchSettings extends PerspectiveSettings {
  readonly baseUrl: URL
  /** Hosts that the operator admits with any address and port, as `host` or `host:port`. */
  readonly ssoPrivateHosts: ReadonlySet<string>
}

/** @param userAgent the `User-Agent` of all requests */
export function openGuardedFetch(
  settings: GuardedFetchSettings,
  userAgent: string,
  timeLimitMs = TIME_LIMIT_MS,
): GuardedFetch {
  const closing = new AbortController()
  const clients = settings.dnsResolvers.map((server) => new DnsClient(server))
  const options: ConnectOptions = {
    addressesOf: (host) => firstAnswer(clients, host),
    loopbackHosts: settings.loopbackHosts,
    port: HTTPS_PORT,
    dial: connect,
  }
  return {
    async fetch(text, { method, headers, body, signal: given }) {
      const url = new URL(text)
      const limits = [closing.signal, AbortSignal.timeout(timeLimitMs), given]
      const signal = AbortSignal.any(limits.filter((each) => each !== undefined))
      const createClient = await loadClient()
      const open = connectTo(url, settings, options, signal)
      const socket = await withNetworkErrors(url.hostname, signal, open)
      const client = createClient(url, socket)
      try {
        const request = client.request({
          method: method as Dispatcher.HttpMethod,
          path: `${url.pathname}${url.search}`,
          headers: { ...headers, 'user-agent': userAgent, 'accept-encoding': 'identity' },
          body: body === undefined || body === null ? null : String(body),
          signal,
        })
        return await withNetworkErrors(url.hostname, signal, request.then(toResponse))
      } finally {
        await client.destroy()
        socket.destroy()
      }
    },
    async close() {
      closing.abort()
      for (const client of clients) client.close()
    },
  }
}

/** @throws Unreachable if the URL or an address of its host is not allowed */
async function connectTo(
  url: URL,
  { ssoPrivateHosts, baseUrl }: GuardedFetchSettings,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  if (!ssoPrivateHosts.has(url.host)) {
    assertAllowed(url)
    return guardedConnect(url.hostname, options, signal)
  }
  // A service on loopback is a developer's, whose identity provider need not have a certificate.
  const isPlain =
    url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(baseUrl.hostname)
  if (!isPlain && url.protocol !== 'https:') throw new Unreachable(`${url.host} must use https.`)
  const host = url.hostname.replaceAll(/[[\]]/g, '')
  const port = Number(url.port || (isPlain ? 80 : HTTPS_PORT))
  const socket = connect({ host, port, autoSelectFamily: true })
  await untilEvent(socket, 'connect', signal)
  return isPlain ? socket : upgradeToTls(socket, host, signal)
}

async function toResponse({ statusCode, headers, body }: Dispatcher.ResponseData) {
  const bytes = await readBounded(body, MAX_RESPONSE_BYTES)
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  )
  return new Response(WITHOUT_BODY.includes(statusCode) ? null : Buffer.from(bytes), {
    status: statusCode,
    headers: pairs,
  })
}
