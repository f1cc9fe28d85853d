import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { BlockList, type Socket } from 'node:net'
import { ERROR_STATUS } from '@countersign/protocol'
import ipaddr from 'ipaddr.js'
import { errorResponse } from './error-handler.ts'
import { addressKey } from './limits/address-key.ts'
import { newRequestId } from './request-id.ts'

const MESSAGE = 'Too many connections from your address. Close some, or reuse them.'

export interface ConnectionLimitOptions {
  /** How many connections an address (of IPv6: a /64) may have open; null: any number. */
  readonly perAddress: number | null
  /** Proxies carry the connections of all clients, and are not limited. */
  readonly isTrustedProxy: (address: string) => boolean
}

/** @returns a function that limits the connections of a server; those of all servers given to it count together */
export function connectionLimit({
  perAddress,
  isTrustedProxy,
}: ConnectionLimitOptions): (server: Server) => void {
  const open = new Map<string, number>()
  const onConnection = (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (isTrustedProxy(address)) return
    const key = addressKey(address)
    const count = (open.get(key) ?? 0) + 1
    open.set(key, count)
    socket.once('close', () => {
      const left = (open.get(key) ?? 1) - 1
      if (left === 0) open.delete(key)
      else open.set(key, left)
    })
    if (count > (perAddress as number)) reject(socket)
  }
  return (server) => void (perAddress === null || server.on('connection', onConnection))
}

/** Answers before a request has arrived: what the client sends is never parsed. */
function reject(socket: Socket): void {
  const body = JSON.stringify(errorResponse('UNAVAILABLE', MESSAGE, newRequestId()).body)
  socket.on('error', () => undefined)
  socket.write(
    `HTTP/1.1 ${ERROR_STATUS.UNAVAILABLE} Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `cache-control: no-store\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  socket.destroySoon()
}

/**
 * @param ranges addresses and CIDR ranges
 * @returns whether the address of a connection is one of them; IPv4-mapped addresses count as IPv4
 */
export function trustedProxies(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = address.includes(':') ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    if (ranges.length === 0 || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return list.check(parsed.toString(), parsed.kind())
  }
}

/** How many requests of a connection may be unanswered. Browsers and proxies send one at a time. */
const MAX_UNANSWERED = 16
const UNANSWERED = Symbol('requests without an answer')

interface CountingSocket extends Socket {
  [UNANSWERED]?: number
}

/**
 * Whether a request must be ignored, because too many before it on its connection have no answer yet: the connection is destroyed
 * (RFC 9112 section 9.3.2 allows that). Node dispatches all requests that arrived together, hundreds of them, before it can pause,
 * and every answer to a client that does not read would wait in memory.
 */
export function isOneTooMany({ socket }: IncomingMessage): boolean {
  if (socket.destroyed) return true
  if (((socket as CountingSocket)[UNANSWERED] ?? 0) < MAX_UNANSWERED) return false
  socket.destroy()
  return true
}

/** Counts a request as one without an answer, until the kernel has taken all of it. */
export function countUnanswered(request: IncomingMessage, response: ServerResponse): void {
  const socket: CountingSocket = request.socket
  // The usual case: answered at once, and nothing of it waits.
  if (response.writableFinished) return
  socket[UNANSWERED] = (socket[UNANSWERED] ?? 0) + 1
  response.on('finish', countAnswer)
}

function countAnswer(this: ServerResponse): void {
  const socket: CountingSocket = this.req.socket
  socket[UNANSWERED] = (socket[UNANSWERED] ?? 1) - 1
}
