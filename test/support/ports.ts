import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/**
 * TCP ports that tests give to programs which have to know their port before they listen. They lie below those that
 * systems hand out for port 0 and for outgoing connections, so that no connection takes one in between.
 */
const FIRST = 21_000
const BLOCK_SIZE = 25
const BLOCKS = 360
/** A block belongs to the process that has bound the UDP port of the same number from here on. */
const FIRST_GUARD = 31_000

let next = 0
let end = 0

/**
 * A port of the loopback interface that nothing listens on, and that no other test is given as long as this process
 * lives.
 * @param host which of its addresses
 */
export async function freePort(host = 'localhost'): Promise<number> {
  for (let tries = 0; tries < BLOCKS * BLOCK_SIZE; tries++) {
    while (next === end) await takeBlock()
    const port = next++
    if (await isFree(port, host)) return port
  }
  throw new Error('no port is free')
}

let taking: Promise<void> | null = null

/** Callers that come meanwhile wait for the same block. */
function takeBlock(): Promise<void> {
  taking ??= reserveBlock().finally(() => {
    taking = null
  })
  return taking
}

async function reserveBlock(): Promise<void> {
  for (let i = 0; i < BLOCKS; i++) {
    const block = (process.pid + i) % BLOCKS
    if (!(await bindGuard(FIRST_GUARD + block))) continue
    next = FIRST + block * BLOCK_SIZE
    end = next + BLOCK_SIZE
    return
  }
  throw new Error('other processes have reserved all ports for tests')
}

/** Node frees the port when the process ends, however it ends. */
function bindGuard(port: number): Promise<boolean> {
  const guard = createSocket('udp4').unref()
  return new Promise((resolve) => {
    guard.once('error', () => guard.close(() => resolve(false)))
    guard.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}

function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
