import { isPublicAddress } from '@countersign/protocol'
import { type NodeBuiltin, nodeBuiltin, type TlsSocket } from '../runtime.ts'

/** A response to a request that follows no redirect. */
export type FetchedPage = Pick<Response, 'status' | 'body'>

interface Tls {
  connect(options: object): TlsSocket
}

/** How long to wait for one address before the next one is tried. */
const ADDRESS_MS = 1000

/**
 * Fetches a page of the public internet. In Node it resolves the host once, refuses it unless every address is public, and connects
 * to one of those addresses, so that no second answer of the DNS is used (DNS rebinding). Elsewhere only the URL could be checked.
 * Follows no redirect.
 * @param url https on port 443 at a host name (`directoryUrl` of protocol)
 * @throws errors of the network, and Error for an address that is not public
 */
export function fetchPublicPage(url: URL, signal: AbortSignal): Promise<FetchedPage> {
  const builtin = nodeBuiltin()
  return builtin === null ? fetchPage(fetch, url, signal) : fetchGuarded(builtin, url, signal)
}

const HEADERS = { accept: 'application/http-message-signatures-directory+json, application/json' }

/** Fetches a page with a fetch function. */
export function fetchPage(
  fetch: typeof globalThis.fetch,
  url: URL,
  signal: AbortSignal,
): Promise<FetchedPage> {
  return fetch(url, { headers: HEADERS, redirect: 'manual', signal })
}

function streamOf(chunks: AsyncIterable<Uint8Array>): FetchedPage['body'] {
  // The types of Workers lack this function, which Node has.
  const { from } = ReadableStream as unknown as {
    from(chunks: AsyncIterable<Uint8Array>): FetchedPage['body']
  }
  return from.call(ReadableStream, chunks)
}

async function fetchGuarded(
  builtin: NodeBuiltin,
  url: URL,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { hostname, pathname, search } = url
  const found = await builtin('node:dns').promises.lookup(hostname, { all: true })
  const addresses = found.map(({ address }) => address)
  if (addresses.length === 0 || !addresses.every(isPublicAddress)) {
    throw new Error(`${hostname} has an address that is not public.`)
  }
  const socket = await connectToOneOf(builtin('node:tls'), addresses, hostname, signal)
  signal.addEventListener('abort', () => socket.destroy(), { once: true })
  return new Promise((resolve, reject) => {
    const options = {
      createConnection: () => socket,
      path: `${pathname}${search}`,
      headers: { ...HEADERS, host: hostname, 'accept-encoding': 'identity', connection: 'close' },
      setHost: false,
      maxHeaderSize: 16 * 1024,
    }
    const request = builtin('node:http').request(options, (response) => {
      resolve({ status: response.statusCode ?? 0, body: streamOf(response) })
    })
    request.once('error', reject)
    request.end()
  })
}

/** One after the other, IPv4 first. */
async function connectToOneOf(
  tls: Tls,
  addresses: readonly string[],
  servername: string,
  signal: AbortSignal,
): Promise<TlsSocket> {
  const ordered = addresses.toSorted((a, b) => Number(a.includes(':')) - Number(b.includes(':')))
  let failure: unknown
  for (const host of ordered) {
    signal.throwIfAborted()
    try {
      return await connectTo(
        tls,
        host,
        servername,
        AbortSignal.any([signal, AbortSignal.timeout(ADDRESS_MS)]),
      )
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/** By its address, so that nothing is resolved again. Verifies the certificate even if NODE_TLS_REJECT_UNAUTHORIZED is 0. */
function connectTo(
  { connect }: Tls,
  host: string,
  servername: string,
  signal: AbortSignal,
): Promise<TlsSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: 443,
      servername,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
    })
    const fail = (error: unknown) => {
      socket.destroy()
      reject(error)
    }
    const abort = () => fail(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    // Never removed: an error without a listener would end the process.
    socket.on('error', fail)
    socket.once('secureConnect', () => {
      signal.removeEventListener('abort', abort)
      resolve(socket)
    })
  })
}
