import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { encodeBase64Url, isLoopback } from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'

const DEFAULT_PORT = 8808
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']
const EVERYWHERE = ['0.0.0.0', '::']
/** 32 characters of base64url have 192 bits. */
const TOKEN_PATTERN = /^[A-Za-z0-9._~+/=-]{32,512}$/

/** The options of `countersign mcp --http`. */
export interface HttpFlags {
  /** A port; `true` if none was given. */
  readonly http: string | true
  readonly host: string
  readonly allowHost: readonly string[]
}

export interface HttpSettings {
  readonly address: string
  readonly port: number
  readonly hostnames: readonly string[]
  readonly token: string
  /** Whether the token was generated for this run. */
  readonly tokenIsNew: boolean
  /** Whether only this machine can connect to the address. */
  readonly isLocal: boolean
}

/**
 * Validates the options, and generates a token if the environment has none (a command line would show it to other users).
 * @param envToken COUNTERSIGN_MCP_TOKEN
 * @throws Failure USAGE, without repeating the token
 */
export function readHttpSettings(flags: HttpFlags, envToken: string | undefined): HttpSettings {
  const { http, host, allowHost } = flags
  const port = http === true ? DEFAULT_PORT : Number(http)
  if (http !== true && !/^\d{1,5}$/.test(http)) throw usage('--http takes a port, 0 to 65535.')
  if (port > 65535) throw usage('--http takes a port, 0 to 65535.')
  if (isIP(host) === 0)
    throw usage('--host takes an IP address of this machine, such as 127.0.0.1.')
  if (EVERYWHERE.includes(host) && allowHost.length === 0) {
    throw usage(
      'To listen on every address, give the host name of the server with --allow-host, such as agent.example.com. It protects against DNS rebinding.',
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

/** The guard compares host names without ports: DNS rebinding cannot forge a name. */
function hostnameOf(text: string): string {
  const url = URL.parse(`http://${text}`)
  if (url !== null && url.port === '' && url.href === `http://${url.hostname}/`) return url.hostname
  throw usage('--allow-host takes the host name that clients use, without scheme or port.')
}

function requireToken(token: string): string {
  if (TOKEN_PATTERN.test(token)) return token
  throw usage(
    'COUNTERSIGN_MCP_TOKEN must be 32 to 512 letters, digits and . _ ~ + / = -. Create one with: openssl rand -hex 32',
  )
}

function usage(message: string): Failure {
  return new Failure('USAGE', message)
}
