import type { NonceStore } from '@countersign/sdk'
import { redisNonceStore } from '../redis-nonce-store.ts'
import type { Log } from './log.ts'

/** A nonce store with a connection. */
export interface OpenNonceStore {
  readonly store: NonceStore
  close(): void
}

const CONNECT_TIMEOUT_MS = 1000
/** After so long without a byte the connection is closed, which ends commands that nobody waits for any more. */
const SOCKET_TIMEOUT_MS = 2000
const MAX_RECONNECT_DELAY_MS = 2000

/**
 * Opens the store of used nonces in a Redis. It connects in the background and keeps reconnecting.
 * @param url may contain a password, which is never logged
 * @throws Error if the package ioredis is not installed
 */
export async function openNonceStore(url: string, log: Log): Promise<OpenNonceStore> {
  const { Redis } = await loadClient()
  const client = new Redis(url, {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    // While disconnected, commands fail at once instead of waiting.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(times * 100, MAX_RECONNECT_DELAY_MS),
  })
  let isDown = false
  client.on('error', (error: NodeJS.ErrnoException) => {
    // Once for each outage, and without the message, which can repeat the password.
    if (!isDown) log('error', 'nonces', { note: UNREACHABLE, code: error.code ?? error.name })
    isDown = true
  })
  client.on('ready', () => {
    isDown = false
    log('info', 'nonces', { note: 'Redis is connected.' })
    warnOfEviction(client.info('memory'), log)
  })
  return { store: redisNonceStore(client), close: () => client.disconnect() }
}

const UNREACHABLE =
  'Redis cannot be reached. Signed requests that change state are answered with 503 meanwhile.'

async function loadClient() {
  try {
    return await import('ioredis')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error('`nonces` needs the package ioredis: npm install ioredis@6', { cause })
  }
}

/** An evicted nonce could be used again. */
function warnOfEviction(info: Promise<string>, log: Log): void {
  info.then(
    (text) => {
      const policy = /^maxmemory_policy:(\S+)/m.exec(text)?.[1] ?? 'noeviction'
      if (policy === 'noeviction') return
      const note = 'Redis may evict nonces, which could then be used again. Set noeviction.'
      log('warn', 'nonces', { note, policy })
    },
    // Some providers do not allow the command.
    () => undefined,
  )
}
