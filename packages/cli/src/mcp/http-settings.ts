import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { encodeBase64Url, isLoopback } from '@countersign/protocol'
import { Failure } from '../failure.ts'

const DEFAULT_PORT = 8808
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']
const EVERYWHERE = ['0.0.0.0', '::']
/** 32 characters of base64url have 192 bits. */
const TOKEN_PATTERN = /^[A-Za-z0-9._~+/=-]{32,512}$/

/** The options of `countersign mcp --http`, as the user has given them. */
export interface HttpFlags {
  /** `true`: without a port. */
  readonly http: string | true
  readonly host: string
  readonly allowHost: readonly string[]
}

export interface HttpSettings {
  readonly address: string
  readonly port: number
  readonly hostnames: readonly string[]
  readonly token: string
  /** Whether nobody knows the token yet. */
  readonly tokenIsNew: boolean
  /** Whether only this machine can connect. */
  readonly isLocal: boolean
}

/**
 * Reads how to listen. The token comes from the environment, where other users of the machine do not see it, or is
 * made for this run.
 * @throws Failure USAGE, without repeating the token
 */
export function readHttpSettings(
  flags: HttpFlags,
  envToken = process.env.COUNTERSIGN_MCP_TOKEN,
): HttpSettings {
  const { http, host, allowHost } = flags
  const port = http === true ? DEFAULT_PORT : Number(http)
  if (http !== true && !/^\d{1,5}$/.test(http)) throw usage('--http takes a port, 0 to 65535.')
  if (port > 65535) throw usage('--http takes a port, 0 to 65535.')
  if (isIP(host) === 0) throw usage('--host is an IP address of this machine, such as 127.0.0.1.')
  if (EVERYWHERE.includes(host) && allowHost.length === 0) {
    throw usage(
      'A server on every address needs to know its name: --allow-host, such as agent.example.com. It is what protects it against DNS rebinding.',
    )
  }
  const bracketed = isIP(host) === 6 ? `[${host}]` : host
  const own = URL.parse(`http://${bracketed}`)?.hostname ?? bracketed
  const isLocal = isLoopback(own)
  const names = allowHost.map(hostnameOf)
  return {
    address: host,
    port,
    hostnames: [...(isLocal ? LOOPBACK_NAMES : []), own, ...names],
    token: envToken ? requireToken(envToken) : encodeBase64Url(randomBytes(32)),
    tokenIsNew: !envToken,
    isLocal,
  }
}

/** Without a port: what DNS rebinding cannot forge is the name. */
function hostnameOf(text: string): string {
  const url = URL.parse(`http://${text}`)
  if (url !== null && url.port === '' && url.href === `http://${url.hostname}/`) return url.hostname
  throw usage('--allow-host is the name that clients use, without scheme or port.')
}

function requireToken(token: string): string {
  if (TOKEN_PATTERN.test(token)) return token
  throw usage(
    'COUNTERSIGN_MCP_TOKEN is too easy to guess or cannot stand in a header: 32 to 512 letters, digits and . _ ~ + / = -, such as openssl rand -hex 32 makes.',
  )
}

function usage(message: string): Failure {
  return new Failure('USAGE', message)
}
