import { connect, type Socket } from 'node:net'
import { isLoopback } from '@countersign/protocol'
import type { Client } from 'undici'
import { withTimeout } from '../../base/timeout.ts'
import { readBounded } from './bounded-fetch.ts'
import { DnsClient, withNetworkErrors } from './dns-client.ts'
import { assertAllowed, loadClient, type PerspectiveSettings, readPage } from './fetch-page.ts'
import {
  type ConnectOptions,
  checkedAddresses,
  guardedConnect,
  isLoopbackAddress,
  untilEvent,
} from './guarded-connect.ts'
import { type Page, ProofAbsent, Unreachable } from './perspective.ts'

const HTTPS_PORT = 443
/** For DNS, the connection and the head of the response together. */
const TIME_LIMIT_MS = 10_000
const BODY_TIME_LIMIT_MS = 1000

/** A request to send. */
export interface OutboundMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How a receiver answers. */
export interface Receipt {
  readonly status: number
  readonly body: Uint8Array | null
}

/**
 * Sends requests to URLs that strangers have chosen: https on port 443, a host name instead of an address, public addresses
 * only, which are checked for each connection. Follows no redirect.
 */
export interface Sender {
  /** Checks a URL and the addresses of its host, without connecting. @throws ProofAbsent, Unreachable */
  check(url: URL): Promise<void>
  /**
   * Sends a POST request and waits at most 10 seconds for the status. Of the body it reads at most 64 KiB, for a second.
   * @param stopped aborts it
   * @returns the status, whatever it is, and the body, or null if it is longer or later
   * @throws ProofAbsent if the host has no address, Unreachable if there is no response under these rules
   */
  post(url: URL, message: OutboundMessage, stopped?: AbortSignal): Promise<Receipt>
  /**
   * Fetches a page and waits at most 10 seconds for all of it.
   * @returns the page, whatever its status; a redirect too
   * @throws ProofAbsent if the host has no address, Unreachable if there is no response under these rules
   */
  get(url: URL, accept: string): Promise<Page>
  /**
   * Sends a POST request and waits at most 10 seconds for all of the response, at most 64 KiB.
   * @param stopped aborts it
   * @returns the response, whatever its status; a redirect too
   * @throws ProofAbsent if the host has no address, Unreachable if there is no response under these rules
   */
  exchange(url: URL, message: OutboundMessage, stopped: AbortSignal): Promise<Page>
  /** Aborts requests in progress: they reject with Unreachable. */
  close(): Promise<void>
}

export interface SenderSettings extends PerspectiveSettings {
  readonly baseUrl: URL
}

/**
 * Opens a sender. A service on loopback, which is a developer's, may also send to http on loopback.
 * @param userAgent the `User-Agent` of all requests
 * @param timeLimitMs shorter in tests
 */
export function openSender(
  { dnsResolvers, loopbackHosts, baseUrl }: SenderSettings,
  userAgent: string,
  timeLimitMs = TIME_LIMIT_MS,
): Sender {
  const closing = new AbortController()
  const clients = dnsResolvers.map((server) => new DnsClient(server))
  const options: ConnectOptions = {
    addressesOf: (host) => firstAnswer(clients, host),
    loopbackHosts,
    port: HTTPS_PORT,
    dial: connect,
  }
  const connectTo = (url: URL, signal: AbortSignal) => {
    const isPlain = transportOf(url, baseUrl) === 'plain'
    return withNetworkErrors(
      url.hostname,
      signal,
      isPlain ? connectToLoopback(url, signal) : guardedConnect(url.hostname, options, signal),
    )
  }
  const readOver = async (
    url: URL,
    message: { readonly headers: Readonly<Record<string, string>>; readonly body?: string },
    signal: AbortSignal,
  ): Promise<Page> => {
    const createClient = await loadClient()
    const client = createClient(url, await connectTo(url, signal))
    try {
      const headers = { ...message.headers, 'user-agent': userAgent }
      const page = readPage(client, url, { ...message, headers }, signal)
      return await withNetworkErrors(url.hostname, signal, page)
    } finally {
      await client.destroy()
    }
  }
  return {
    async check(url) {
      if (transportOf(url, baseUrl) === 'plain') return
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeLimitMs)])
      await withNetworkErrors(url.hostname, signal, checkedAddresses(url.hostname, options))
    },
    async post(url, message, stopped = closing.signal) {
      const timeLimit = AbortSignal.timeout(timeLimitMs)
      const signal = AbortSignal.any([closing.signal, timeLimit, stopped])
      const createClient = await loadClient()
      const socket = await connectTo(url, signal)
      const headers = { ...message.headers, 'user-agent': userAgent }
      return postOver(createClient(url, socket), socket, url, { ...message, headers }, signal)
    },
    async get(url, accept) {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeLimitMs)])
      return readOver(url, { headers: { accept } }, signal)
    },
    async exchange(url, message, stopped) {
      const timeLimit = AbortSignal.timeout(timeLimitMs)
      return readOver(url, message, AbortSignal.any([closing.signal, timeLimit, stopped]))
    },
    async close() {
      closing.abort()
      for (const client of clients) client.close()
    },
  }
}

/**
 * How to send to a URL, as far as the URL itself shows.
 * @returns `plain`: to loopback, in development
 * @throws Unreachable if it may not
 */
export function transportOf(url: URL, baseUrl: URL): 'plain' | 'tls' {
  if (isLoopback(baseUrl.hostname) && isPlainLoopback(url)) return 'plain'
  assertAllowed(url)
  return 'tls'
}

/** The answer of the first DNS server that has one. */
export async function firstAnswer(clients: readonly DnsClient[], host: string) {
  let failure: unknown = new Unreachable(`${host}: no DNS server is configured.`)
  for (const client of clients) {
    try {
      return await client.addresses(host)
    } catch (error) {
      if (error instanceof ProofAbsent) throw error
      failure = error
    }
  }
  throw failure
}

function isPlainLoopback({ protocol, hostname, username, password }: URL): boolean {
  return protocol === 'http:' && username === '' && password === '' && isLoopback(hostname)
}

async function connectToLoopback({ hostname, port }: URL, signal: AbortSignal): Promise<Socket> {
  const host = hostname.replaceAll(/[[\]]/g, '')
  const socket = connect({ host, port: Number(port || 80), autoSelectFamily: true })
  await untilEvent(socket, 'connect', signal)
  if (isLoopbackAddress(socket.remoteAddress ?? '')) return socket
  socket.destroy()
  throw new Unreachable(`${hostname} is not a loopback address.`)
}

async function postOver(
  client: Client,
  socket: Socket,
  url: URL,
  { headers, body }: OutboundMessage,
  signal: AbortSignal,
): Promise<Receipt> {
  try {
    const path = `${url.pathname}${url.search}`
    const request = client.request({ method: 'POST', path, headers, body, signal })
    const response = await withNetworkErrors(url.hostname, signal, request)
    // The status decides. The rest may say why, and is read so that the receiver can finish.
    const reading = withTimeout(readBounded(response.body), BODY_TIME_LIMIT_MS)
    return { status: response.statusCode, body: await reading.catch(() => null) }
  } finally {
    await client.destroy()
    socket.destroy()
  }
}
