import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below those that a system gives away where any port will do, to connections above all: none of them comes between. */
const FIRST = 12_000
const LAST = 20_999
/** A TCP port belongs to the process that holds the UDP port so much above it. */
const UP_TO_GUARD = 10_000

/**
 * A port of the loopback interface that nothing listens on, and that no other test is given as long as this process
 * lives: what is started there may take its time, and may be started again.
 * @param host which of its addresses
 */
export async function freePort(host = 'localhost'): Promise<number> {
  for (let tries = 0; tries < 500; tries++) {
    const port = randomInt(FIRST, LAST + 1)
    if ((await isGuarded(port)) && (await isFree(port, host))) return port
  }
  throw new Error('no port is free')
}

function isGuarded(port: number): Promise<boolean> {
  const guard = createSocket('udp4').unref()
  return new Promise((resolve) => {
    guard.once('error', () => guard.close(() => resolve(false)))
    guard.bind({ port: port + UP_TO_GUARD, address: '127.0.0.1', exclusive: true }, () =>
      resolve(true),
    )
  })
}

function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
