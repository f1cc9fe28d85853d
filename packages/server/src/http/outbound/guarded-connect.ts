import { isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { Unreachable } from './perspective.ts'

export interface ConnectOptions {
  /** @returns at least one address. @throws ProofAbsent, Unreachable */
  readonly addressesOf: (host: string) => Promise<readonly string[]>
  /** Hosts that must resolve to loopback, with the port to use there instead of `port`. */
  readonly loopbackHosts: ReadonlyMap<string, number>
  /** 443, except in tests. */
  readonly port: number
  /** `connect` of node:net. Tests pass one that connects elsewhere, as a compromised network could. */
  readonly dial: (options: TcpNetConnectOpts) => Socket
}

/** How long to wait for one address before trying the next in parallel (Happy Eyeballs, RFC 8305). */
const NEXT_ADDRESS_MS = 1500

/**
 * Connects to a host by TLS, guarded against SSRF: resolves the host once, checks every address, connects to one of those
 * addresses, and checks the remote address of the socket before anything is sent. No second DNS answer (DNS rebinding)
 * is ever used.
 * @throws ProofAbsent if the host has no address, Unreachable if any address is not allowed, errors of node:net and
 * node:tls otherwise
 */
export async function guardedConnect(
  host: string,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const { addresses, isAllowed, mustBePublic } = await checkedAddresses(host, options)
  signal.throwIfAborted()
  const port = options.loopbackHosts.get(host) ?? options.port
  const socket = await connectToOneOf(addresses, { host, port, options, signal })
  const { remoteAddress = 'nobody' } = socket
  if (!isAllowed(remoteAddress)) {
    socket.destroy()
    throw notAllowedError(host, mustBePublic)
  }
  return upgradeToTls(socket, host, signal)
}

/**
 * Resolves a host and checks every address. Connects to nothing.
 * @throws ProofAbsent if the host has no address, Unreachable if any address is not allowed
 */
export async function checkedAddresses(
  host: string,
  { addressesOf, loopbackHosts }: Pick<ConnectOptions, 'addressesOf' | 'loopbackHosts'>,
) {
  if (isIP(host) !== 0) throw new Unreachable(`${host} is an address, not the name of a host.`)
  const mustBePublic = !loopbackHosts.has(host)
  const isAllowed = mustBePublic ? isPublicAddress : isLoopbackAddress
  const addresses = await addressesOf(host)
  for (const address of addresses) {
    if (!isAllowed(address)) throw notAllowedError(host, mustBePublic)
  }
  return { addresses, isAllowed, mustBePublic }
}

/** Does not name the address: strangers would learn what a resolver of this network answers. */
function notAllowedError(host: string, mustBePublic: boolean): Unreachable {
  const required = mustBePublic ? 'public' : 'loopback'
  return new Unreachable(`${host} resolves to an address that is not a ${required} address.`)
}

interface Target {
  readonly host: string
  readonly port: number
  readonly options: ConnectOptions
  readonly signal: AbortSignal
}

/** Uses node:net's `autoSelectFamily`, with a `lookup` that returns only the checked addresses. */
function connectToOneOf(
  addresses: readonly string[],
  { host, port, options, signal }: Target,
): Promise<Socket> {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }))
  const socket = options.dial({
    host,
    port,
    lookup: (_host, _options, callback) => callback(null, checked),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  })
  return untilEvent(socket, 'connect', signal)
}

/** Verifies certificates even if NODE_TLS_REJECT_UNAUTHORIZED is 0. */
export function upgradeToTls(
  socket: Socket,
  host: string,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    host,
    // RFC 6066 allows no address here.
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  })
  return untilEvent(secured, 'secureConnect', signal)
}

/** Resolves on the event. On an error or abort it destroys the socket and rejects. */
export function untilEvent<T extends Socket>(
  socket: T,
  event: string,
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      socket.destroy()
      reject(error)
    }
    const abort = () => fail(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    // Never removed: an error without a listener would end the process.
    socket.on('error', fail)
    socket.once(event, () => {
      signal.removeEventListener('abort', abort)
      resolve(socket)
    })
  })
}

/** The global unicast addresses that IANA assigns. Excludes `::127.0.0.1`, which ipaddr.js also calls unicast. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3')

/** Whether an address is public: not loopback, private, link-local, mapped or translated. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  if (address === null || address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6)
}

export function isLoopbackAddress(text: string): boolean {
  return parseAddress(text)?.range() === 'loopback'
}

/** Parses an address; an IPv4-mapped one (`::ffff:127.0.0.1`) becomes IPv4. @returns null if it is not an address */
function parseAddress(text: string) {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null
}
