import { isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { Unreachable } from './perspective.ts'

/** Where a client may connect to. */
export interface ConnectRules {
  /** @returns at least one address. @throws ProofAbsent, Unreachable */
  readonly addressesOf: (host: string) => Promise<readonly string[]>
  /** Hosts that have to be on loopback, and the port there in the place of the usual one. */
  readonly loopbackHosts: ReadonlyMap<string, number>
  /** 443; tests have another, at which a canary listens. */
  readonly port: number
  /** `connect` of node:net; tests have one that leads elsewhere, as a network may. */
  readonly dial: (options: TcpNetConnectOpts) => Socket
}

/** How long one address may take before the next is tried beside it. */
const NEXT_ADDRESS_MS = 1500

/**
 * Connects to a host by TLS, at an address that was looked up and checked now. The connection is made to that address,
 * never to what a second look-up would say, and nothing is sent before its other end is checked too.
 * @throws ProofAbsent where the host has no address, Unreachable where one of them is not public, errors of node:net and
 * node:tls otherwise
 */
export async function guardedConnect(
  host: string,
  rules: ConnectRules,
  signal: AbortSignal,
): Promise<TLSSocket> {
  if (isIP(host) !== 0) throw new Unreachable(`${host} is an address, not the name of a host.`)
  const loopbackPort = rules.loopbackHosts.get(host)
  const isAllowed = loopbackPort === undefined ? isPublicAddress : isLoopbackAddress
  const addresses = await rules.addressesOf(host)
  signal.throwIfAborted()
  for (const address of addresses) {
    if (!isAllowed(address)) throw refusal(host, address, loopbackPort === undefined)
  }
  const port = loopbackPort ?? rules.port
  const socket = await connectToOneOf(addresses, { host, port, rules, signal })
  const { remoteAddress = 'nobody' } = socket
  if (!isAllowed(remoteAddress)) {
    socket.destroy()
    throw refusal(host, remoteAddress, loopbackPort === undefined)
  }
  return secure(socket, host, signal)
}

function refusal(host: string, address: string, mustBePublic: boolean): Unreachable {
  const wrong = mustBePublic ? 'not a public address' : 'not on loopback, as LOOPBACK_HOSTS has it'
  return new Unreachable(`${host} resolves to ${address}, which is ${wrong}.`)
}

interface Connecting {
  readonly host: string
  readonly port: number
  readonly rules: ConnectRules
  readonly signal: AbortSignal
}

/** By node:net's own race of addresses, fed with those that were checked. */
function connectToOneOf(
  addresses: readonly string[],
  { host, port, rules, signal }: Connecting,
): Promise<Socket> {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }))
  const socket = rules.dial({
    host,
    port,
    lookup: (_host, _options, callback) => callback(null, checked),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  })
  return settled(socket, 'connect', signal)
}

/** Certificates are verified whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
function secure(socket: Socket, host: string, signal: AbortSignal): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    servername: host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  })
  return settled(secured, 'secureConnect', signal)
}

function settled<T extends Socket>(socket: T, event: string, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (error: unknown) => {
      socket.destroy()
      reject(error)
    }
    const giveUp = () => give(signal.reason)
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    // It stays: an error that comes when nobody listens would end the process.
    socket.on('error', give)
    socket.once(event, () => {
      signal.removeEventListener('abort', giveUp)
      resolve(socket)
    })
  })
}

/** All that is given out as global unicast (RFC 4291 section 2.4); `::127.0.0.1`, which is unicast too, is not in it. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3')

/** Whether an address is one of the public internet: no loopback, private, link-local, mapped or translated one. */
export function isPublicAddress(text: string): boolean {
  const address = processed(text)
  if (address === null || address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6)
}

export function isLoopbackAddress(text: string): boolean {
  return processed(text)?.range() === 'loopback'
}

/** An IPv4 address in the clothes of IPv6 (`::ffff:127.0.0.1`) becomes what it is. */
function processed(text: string) {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null
}
