import { connect, type Socket } from 'node:net'
import type { Client } from 'undici'
import { readBounded } from './bounded-fetch.ts'
import { DnsClient, withNetworkErrors } from './dns-client.ts'
import { type ConnectOptions, guardedConnect } from './guarded-connect.ts'
import { type Page, type Perspective, Unreachable } from './perspective.ts'

export interface FetchOptions extends ConnectOptions {
  readonly userAgent: string
  /** For the whole fetch: DNS, connections, redirects and bodies. */
  readonly timeLimitMs: number
}

const MAX_HEADER_BYTES = 16 * 1024
const MAX_REDIRECTS = 3
const REDIRECT_STATUSES = [301, 302, 303, 307, 308]

/** A host name as URL normalizes it, of two labels or more, not ending in a digit: no `localhost`, and no spelling of an address. */
const HOST_NAME =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/**
 * Fetches a page under the rules of `Perspective.get`. Each redirect resolves the host again and opens a new connection,
 * so that every connection goes to an address that was just checked.
 * @param closing aborts the fetch
 * @throws ProofAbsent, Unreachable
 */
export async function fetchPage(
  url: URL,
  accept: string,
  options: FetchOptions,
  closing: AbortSignal,
): Promise<Page> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(options.timeLimitMs)])
  let target = url
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    assertAllowed(target)
    const response = await withNetworkErrors(
      target.hostname,
      signal,
      request(target, accept, options, signal),
    )
    if (!('location' in response)) return response
    target = resolveRedirect(target, response.location)
  }
  throw new Unreachable(`${url.hostname} redirects more than ${MAX_REDIRECTS} times.`)
}

/** @throws Unreachable unless the URL is https on port 443, without credentials, at a public host name */
export function assertAllowed({ protocol, hostname, port, username, password }: URL): void {
  if (protocol !== 'https:') throw new Unreachable(`${hostname} must use https.`)
  if (port !== '') throw new Unreachable(`${hostname} must use port 443.`)
  if (username !== '' || password !== '') {
    throw new Unreachable(`${hostname} must not contain a user name or a password.`)
  }
  if (!HOST_NAME.test(hostname)) {
    throw new Unreachable(`${hostname} is not the name of a host on the public internet.`)
  }
}

/** @throws Unreachable if it leads to another host */
function resolveRedirect(from: URL, location: string): URL {
  const to = URL.parse(location, from.href)
  if (to === null) throw new Unreachable(`${from.hostname} redirects to an invalid URL.`)
  if (to.hostname !== from.hostname) {
    throw new Unreachable(`${from.hostname} redirects to another host, which is not followed.`)
  }
  return to
}

/** Sends one request over a connection of its own. @returns the page, or where it redirects to */
async function request(
  url: URL,
  accept: string,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<Page | { readonly location: string }> {
  const createClient = await loadClient()
  const socket = await guardedConnect(url.hostname, options, signal)
  const client = createClient(url, socket)
  try {
    const headers = { accept, 'user-agent': options.userAgent }
    const { location, ...page } = await readPage(client, url, { headers }, signal)
    return location === null ? page : { location }
  } finally {
    await client.destroy()
    // The client may have been destroyed before it took the socket.
    socket.destroy()
  }
}

/** Sends a request over a connection: POST if it has a body. @returns the page, and where it redirects to, or null @throws Unreachable, errors of undici */
export async function readPage(
  client: Client,
  url: URL,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body?: string },
  signal: AbortSignal,
): Promise<Page & { readonly location: string | null }> {
  const response = await client.request({
    ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, 'accept-encoding': 'identity' },
    signal,
  })
  const { statusCode: status } = response
  const { location } = response.headers
  // Its body is not read, however long it is.
  if (REDIRECT_STATUSES.includes(status) && typeof location === 'string')
    return { status, location, mediaType: '', text: '' }
  const encoding = joined(response.headers['content-encoding'])
  if (encoding !== '' && encoding !== 'identity') {
    throw new Unreachable(
      `${url.hostname} sends a compressed response, although none was requested.`,
    )
  }
  const mediaType = joined(response.headers['content-type']).split(';')[0] as string
  return {
    status,
    location: null,
    mediaType: mediaType.trim().toLowerCase(),
    text: new TextDecoder().decode(await readBounded(response.body)),
  }
}

function joined(header: string | readonly string[] | undefined): string {
  return [header ?? []].flat().join(', ')
}

/**
 * Loads undici for the first request. Call it before there is a socket, whose errors nobody would hear meanwhile.
 * @returns creates a client over a socket
 */
export async function loadClient(): Promise<(url: URL, socket: Socket) => Client> {
  const undici = await import('undici')
  return (url, socket) => clientOver(undici.Client, url, socket)
}

/** A client over this socket, which was checked; undici must not open a second one. */
function clientOver(UndiciClient: typeof Client, url: URL, socket: Socket): Client {
  let isUsed = false
  return new UndiciClient(url.origin, {
    connect(_options, callback) {
      const refused = isUsed ? new Unreachable(`${url.hostname} closes the connection.`) : null
      isUsed = true
      // Asynchronously: undici is not ready for a callback while it is still calling `connect`.
      queueMicrotask(() => (refused ? callback(refused, null) : callback(null, socket)))
    },
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 1,
    allowH2: false,
  })
}

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
