import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import {
  DEFAULT_ID_HEADER,
  DEFAULT_SHORT_NAME,
  ID_HEADER_PATTERN,
  isLoopback,
  type Naming,
  namingFor,
  SHORT_NAME_PATTERN,
} from '@countersign/protocol'

/** Previews that this release can switch on. Planned, and refused until they exist: rate-limit, card-formats, http-signatures. */
const PREVIEWS: readonly string[] = []
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** What the host has set (README, table of settings). */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Without a slash at the end. Every URL that the service prints is built from it, never from a Host header. */
  readonly baseUrl: URL
  readonly databaseFile: string
  readonly dataDir: string
  readonly naming: Naming
  readonly serviceName: string
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
  readonly previews: ReadonlySet<string>
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** Null: no metrics port. */
  readonly metricsPort: number | null
  /** Whether two owners may hold live certificates of the same key. */
  readonly keyReuse: 'owner' | 'any'
  /** How many agents the read model holds at most. */
  readonly readModelAgents: number
  /** How long the service still answers after it has called itself not ready, so that a balancer notices. */
  readonly drainSeconds: number
  /** The file with the identity providers, or null. */
  readonly identityProviders: string | null
}

/** Every mistake in the settings, at once. The values are not in the message: one could be a secret. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`Settings that cannot be used:\n${mistakes.map((each) => `  ${each}`).join('\n')}`)
    this.mistakes = mistakes
  }
}

/**
 * Reads the settings from environment variables. An empty variable counts as unset.
 * @throws SettingsError with every mistake
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const mistakes: string[] = []
  const read = <T>(
    name: string,
    fallback: string,
    parse: (text: string) => T | null,
    must: string,
  ): T => {
    const value = parse(env[name] || fallback)
    if (value !== null) return value
    mistakes.push(`${name} must be ${must}`)
    return parse(fallback) as T
  }

  const port = read(
    'PORT',
    '8080',
    (text) => parseInteger(text, 0, 65_535),
    'a port from 0 to 65535',
  )
  const shortName = read(
    'SHORT_NAME',
    DEFAULT_SHORT_NAME,
    matching(SHORT_NAME_PATTERN),
    'a word of 1 to 16 lower-case letters and digits',
  )
  const idHeader = read(
    'ID_HEADER',
    DEFAULT_ID_HEADER,
    matching(ID_HEADER_PATTERN),
    'the name of a header: letters, digits and hyphens',
  )
  const dataDir = resolve(env.DATA_DIR || './data')
  const settings: Settings = {
    host: read(
      'HOST',
      'localhost',
      matching(/^[A-Za-z0-9.:_-]+$/),
      'an address or a host name to listen on',
    ),
    port,
    baseUrl: read(
      'BASE_URL',
      `http://localhost:${port}`,
      parseBaseUrl,
      'an https address (http on loopback alone, since owners sign in there) without path, query or credentials',
    ),
    databaseFile: read(
      'DATABASE_URL',
      `sqlite:${join(dataDir, 'countersign.db')}`,
      parseDatabaseUrl,
      'sqlite:<path of a file>',
    ),
    dataDir,
    naming: namingFor(shortName, idHeader),
    serviceName: read(
      'SERVICE_NAME',
      'Countersign',
      matching(/^[^\p{Cc}]{1,64}$/u),
      'a name of 1 to 64 characters',
    ),
    trustedProxies: read(
      'TRUSTED_PROXIES',
      '',
      parseCidrs,
      'addresses and CIDR ranges, separated by commas',
    ),
    previews: new Set(
      read('PREVIEWS', '', listOf(PREVIEWS), 'empty: no preview is in this release yet'),
    ),
    logLevel: read('LOG_LEVEL', 'info', oneOf(LOG_LEVELS), `one of: ${LOG_LEVELS.join(', ')}`),
    metricsPort:
      read('METRICS_PORT', '9464', parseMetricsPort, 'a port from 0 to 65535, or off')?.port ??
      null,
    keyReuse: read('KEY_REUSE', 'owner', oneOf(['owner', 'any'] as const), 'owner or any'),
    readModelAgents: read(
      'READ_MODEL_AGENTS',
      '2000000',
      (text) => parseInteger(text, 1, 100_000_000),
      'a number from 1 to 100000000',
    ),
    drainSeconds: read(
      'DRAIN_SECONDS',
      '1',
      (text) => parseInteger(text, 0, 300),
      'a number of seconds from 0 to 300',
    ),
    identityProviders: read(
      'IDENTITY_PROVIDERS',
      '',
      (text) => ({ file: text === '' ? null : resolve(text) }),
      'the path of a file',
    ).file,
  }
  if (mistakes.length > 0) throw new SettingsError(mistakes)
  return settings
}

function matching(pattern: RegExp) {
  return (text: string) => (pattern.test(text) ? text : null)
}

function oneOf<T extends string>(values: readonly T[]) {
  return (text: string) => values.find((each) => each === text) ?? null
}

function listOf<T extends string>(values: readonly T[]) {
  return (text: string): T[] | null => {
    const names = split(text)
    const known = values.filter((each) => names.includes(each))
    return known.length === new Set(names).size ? known : null
  }
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

function parseInteger(text: string, least: number, most: number): number | null {
  if (!/^\d{1,9}$/.test(text)) return null
  const value = Number(text)
  return value >= least && value <= most ? value : null
}

function parseMetricsPort(text: string): { port: number | null } | null {
  if (text === 'off') return { port: null }
  const port = parseInteger(text, 0, 65_535)
  return port === null ? null : { port }
}

function parseBaseUrl(text: string): URL | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  // Whoever is on the way of plain http takes the session's cookie, and browsers allow no passkey there.
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return null
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return null
  return url.username === '' && url.password === '' ? url : null
}

function parseDatabaseUrl(text: string): string | null {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1]
  return path === undefined || path.includes('?') ? null : resolve(path)
}

function parseCidrs(text: string): string[] | null {
  const ranges = split(text)
  const valid = ranges.every((range) => {
    const [address, bits, ...more] = range.split('/')
    const version = isIP(address as string)
    if (version === 0 || more.length > 0) return false
    return bits === undefined || parseInteger(bits, 0, version === 4 ? 32 : 128) !== null
  })
  return valid ? ranges : null
}
