import { join, resolve } from 'node:path'
import {
  DEFAULT_ID_HEADER,
  DEFAULT_SHORT_NAME,
  isIdHeader,
  isLoopback,
  type Naming,
  namingFor,
  SHORT_NAME_PATTERN,
} from '@countersign/protocol'
import leven from 'leven'
import {
  listOf,
  matching,
  numberOrOff,
  oneOf,
  parseBaseUrl,
  parseCidrs,
  parseDatabaseUrl,
  parseDuration,
  parseInteger,
  parseLoopbackHosts,
  parseMailFrom,
  parsePrivateHosts,
  parseRateLimits,
  parseRedisUrl,
  parseReplicaUrl,
  parseResolvers,
  parseSmtpUrl,
  type RateSetting,
  type SmtpServer,
} from './parse-settings.ts'

/** Previews in this release. `http-signatures` is planned, and rejected until it exists. */
const PREVIEWS: readonly string[] = ['card-formats', 'rate-limit']
/** All rate limits with their defaults (docs/configuration.md). */
const RATE_LIMITS = {
  mint: '30/m',
  'mint-batches': '6/m',
  'mint-address': '60/m',
  claims: '1000/m',
  'failed-claims': '10/m',
  'failed-claims-token': '10/h',
  'sign-ins': '30/m',
  'recovery-codes': '20/h',
  'sign-ups': '20/h',
  'channel-checks': '10/m',
  verifications: '6000/m',
  reads: '60000/m',
  changes: '600/m',
  pictures: '120/m',
  directories: '30/m',
  witness: '600/m',
  invitations: '20/d',
  scim: '1200/m',
  'failed-scim': '20/m',
  enrolments: '200/h',
  reports: '10/m',
  'reports-host': '20/d',
  'reports-agent': '100/d',
} as const
const HOUR_MS = 60 * 60 * 1000
const MAX_RECOVERY_DELAY_MS = 14 * 24 * 60 * 60 * 1000
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The service's settings (docs/configuration.md). */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Number of processes that serve requests. */
  readonly workers: number
  /** Every URL in responses is built from it, never from the Host header. */
  readonly baseUrl: URL
  readonly database:
    | { readonly kind: 'sqlite'; readonly file: string }
    | { readonly kind: 'postgres'; readonly url: string }
  /** PostgreSQL standbys for lookups, or null. May contain a password. */
  readonly replicaUrl: string | null
  readonly dataDir: string
  /** Folder that is read before `dataDir` for the secrets that nodes share. */
  readonly keysDir: string
  readonly naming: Naming
  readonly serviceName: string
  /** Addresses and CIDR ranges whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly string[]
  /** Connections that one address may have open. Null: any number. */
  readonly maxConnectionsPerAddress: number | null
  readonly previews: ReadonlySet<string>
  /** By name of the limit; without the preview `rate-limit`, only some apply. Null: the limit is off. */
  readonly rateLimits: ReadonlyMap<string, RateSetting | null>
  /** Where nodes count for rate limits. Null: in the database. May contain a password. */
  readonly redisUrl: string | null
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** Null: no metrics port. */
  readonly metricsPort: number | null
  /** `any`: two owners may have live certificates for the same key. */
  readonly keyReuse: 'owner' | 'any'
  /** How long after its redemption the recovery of a key takes effect. */
  readonly recoveryDelayMs: number
  /** How long a certificate is valid. */
  readonly certificateLifetimeMs: number
  /** Maximum number of agents in the read model. */
  readonly readModelAgents: number
  /** How long the service answers lookups without confirmation that it knows the latest writes of other nodes. */
  readonly maxStalenessSeconds: number
  /** How long the service keeps answering after it reports that it is not ready, so that a load balancer notices. */
  readonly drainSeconds: number
  /** Path of the file that configures identity providers, or null. */
  readonly identityProviders: string | null
  /** Path of the file that names the witnesses of the transparency log, or null. */
  readonly witnesses: string | null
  /** Whether the log is signed and served only after its witnesses have answered since the start. */
  readonly requireWitness: boolean
  /** Path of the file that lists the logs that this service witnesses, or null. */
  readonly witnessLogs: string | null
  /** DNS servers, as an address with an optional port. Each is a perspective from which channels are checked. */
  readonly dnsResolvers: readonly string[]
  /** Development only: hosts that must resolve to loopback, with the port to use there instead of 443. */
  readonly loopbackHosts: ReadonlyMap<string, number>
  /** Hosts of identity providers of organisations that need no public address, as `host` or `host:port`. */
  readonly ssoPrivateHosts: ReadonlySet<string>
  /** How e-mail is sent. `development`: it is shown at /development/mail. Null: no e-mail. */
  readonly mail: MailSettings | null
}

export type MailSettings =
  | { readonly kind: 'smtp'; readonly server: SmtpServer; readonly from: string }
  | { readonly kind: 'development' }

/** Lists every mistake in the settings. Contains no values, because one could be a secret. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`Invalid settings:\n${mistakes.map((each) => `  ${each}`).join('\n')}`)
    this.mistakes = mistakes
  }
}

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings from environment variables. An empty variable counts as unset.
 * @throws SettingsError that lists every mistake
 */
export function readSettings(env: Env): Settings {
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
    (text) => (isIdHeader(text) ? text : null),
    'the name of a header that has no other use: letters, digits and hyphens, such as AcmeID',
  )
  const dataDir = resolve(env.DATA_DIR || './data')
  const smtpServer = read(
    'SMTP_URL',
    '',
    parseSmtpUrl,
    'smtp://<user>:<password>@<host>:<port>, or smtps:// with TLS from the start',
  ).server
  const mailFrom = read('MAIL_FROM', '', parseMailFrom, 'an e-mail address').address
  const settings: Omit<Settings, 'mail'> = {
    host: read(
      'HOST',
      'localhost',
      matching(/^[A-Za-z0-9.:_-]+$/),
      'an address or a host name to listen on',
    ),
    port,
    workers: read(
      'WORKERS',
      '1',
      (text) => parseInteger(text, 1, 64),
      'a number of processes from 1 to 64',
    ),
    baseUrl: read(
      'BASE_URL',
      `http://localhost:${port}`,
      parseBaseUrl,
      'an https address (http only on loopback) without path, query or credentials',
    ),
    database: read(
      'DATABASE_URL',
      `sqlite:${join(dataDir, 'countersign.db')}`,
      parseDatabaseUrl,
      'sqlite:<path of a file> or postgres://<user>:<password>@<host>:<port>/<database>',
    ),
    replicaUrl: read(
      'REPLICA_URL',
      '',
      parseReplicaUrl,
      'postgres://<user>:<password>@<host>:<port>/<database>',
    ).url,
    dataDir,
    keysDir: resolve(env.KEYS_DIR || dataDir),
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
      'addresses and CIDR ranges, separated by commas; not all addresses (/0), because every caller would be trusted',
    ),
    maxConnectionsPerAddress: read(
      'MAX_CONNECTIONS_PER_ADDRESS',
      '1000',
      numberOrOff(1, 1_000_000),
      'a number from 1 to 1000000, or off',
    ).value,
    previews: new Set(
      read('PREVIEWS', '', listOf(PREVIEWS), `a list of previews: ${PREVIEWS.join(', ')}`),
    ),
    rateLimits: read(
      'RATE_LIMITS',
      '',
      parseRateLimits(RATE_LIMITS),
      `off, or name=<number>/<s, m, h or d> or name=off, separated by commas, of: ${Object.keys(RATE_LIMITS).join(', ')}`,
    ),
    redisUrl: read(
      'REDIS_URL',
      '',
      parseRedisUrl,
      'redis://<user>:<password>@<host>:<port>/<number>, or rediss:// with TLS',
    ).url,
    logLevel: read('LOG_LEVEL', 'info', oneOf(LOG_LEVELS), `one of: ${LOG_LEVELS.join(', ')}`),
    metricsPort: read(
      'METRICS_PORT',
      '9464',
      numberOrOff(0, 65_535),
      'a port from 0 to 65535, or off',
    ).value,
    keyReuse: read('KEY_REUSE', 'owner', oneOf(['owner', 'any'] as const), 'owner or any'),
    recoveryDelayMs: read(
      'RECOVERY_DELAY',
      '72h',
      (text) => parseDuration(text, MAX_RECOVERY_DELAY_MS),
      'a number of seconds, minutes, hours or days (such as 90s, 72h, 14d), at most 14 days, or 0',
    ),
    certificateLifetimeMs: read(
      'CERTIFICATE_LIFETIME',
      '24h',
      (text) => parseDuration(text, 7 * 24 * HOUR_MS, 2 * HOUR_MS),
      'a number of seconds, minutes, hours or days (such as 12h), from 2 hours to 7 days',
    ),
    readModelAgents: read(
      'READ_MODEL_AGENTS',
      '2000000',
      (text) => parseInteger(text, 1, 100_000_000),
      'a number from 1 to 100000000',
    ),
    maxStalenessSeconds: read(
      'MAX_STALENESS',
      '2',
      (text) => parseInteger(text, 1, 60),
      'a number of seconds from 1 to 60',
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
    witnessLogs: read(
      'WITNESS_LOGS',
      '',
      (text) => ({ file: text === '' ? null : resolve(text) }),
      'the path of a file',
    ).file,
    witnesses: read(
      'WITNESSES',
      '',
      (text) => ({ file: text === '' ? null : resolve(text) }),
      'the path of a file',
    ).file,
    requireWitness: read('LOG_REQUIRE_WITNESS', '0', oneOf(['0', '1'] as const), '0 or 1') === '1',
    dnsResolvers: read(
      'DNS_RESOLVERS',
      '1.1.1.1,8.8.8.8,9.9.9.9',
      parseResolvers,
      'one or more addresses of DNS servers, each once, separated by commas, with a port if it is not 53',
    ),
    loopbackHosts: read(
      'LOOPBACK_HOSTS',
      '',
      parseLoopbackHosts,
      'host:port pairs, separated by commas',
    ),
    ssoPrivateHosts: read(
      'SSO_PRIVATE_HOSTS',
      '',
      parsePrivateHosts,
      'hosts, with a port if it is not 443, separated by commas',
    ),
  }
  if (settings.loopbackHosts.size > 0 && !isLoopback(settings.baseUrl.hostname)) {
    mistakes.push(
      'LOOPBACK_HOSTS must be empty unless BASE_URL is on loopback, because it is for development',
    )
  }
  if (settings.replicaUrl !== null && settings.database.kind === 'sqlite')
    mistakes.push('REPLICA_URL must be empty unless DATABASE_URL is a PostgreSQL')
  if (settings.requireWitness && settings.witnesses === null)
    mistakes.push('LOG_REQUIRE_WITNESS must be 0 unless WITNESSES is set')
  if ((smtpServer === null) !== (mailFrom === null))
    mistakes.push('SMTP_URL and MAIL_FROM must be set together, or neither')
  if (mistakes.length > 0) throw new SettingsError(mistakes)
  return { ...settings, mail: mailSettings(smtpServer, mailFrom, settings.baseUrl) }
}

/** @returns variables that are no setting but nearly the name of one, each with the setting that was probably meant */
export function misspeltSettings(env: Env): { readonly name: string; readonly meant: string }[] {
  const settings = settingNames()
  return Object.keys(env)
    .filter((name) => !settings.has(name) && env[name])
    .flatMap((name) => {
      const meant = [...settings].find((each) => isMisspelt(name, each))
      return meant === undefined ? [] : [{ name, meant }]
    })
}

/** The names that `readSettings` asks for. */
function settingNames(): ReadonlySet<string> {
  const names = new Set<string>()
  readSettings(new Proxy<Env>({}, { get: (_, name) => void names.add(String(name)) }))
  return names
}

/** Short names are often one letter from another word: PORT and SORT, HOST and HOSTS. */
function isMisspelt(name: string, setting: string): boolean {
  const letters = (text: string) => text.toUpperCase().replaceAll(/[^A-Z]/g, '')
  if (letters(name) === letters(setting)) return true
  return setting.length > 4 && leven(name.toUpperCase(), setting) <= (setting.length > 8 ? 2 : 1)
}

/** Without an SMTP server, e-mail exists only on a developer's machine. */
function mailSettings(
  server: SmtpServer | null,
  from: string | null,
  baseUrl: URL,
): MailSettings | null {
  if (server !== null && from !== null) return { kind: 'smtp', server, from }
  return isLoopback(baseUrl.hostname) ? { kind: 'development' } : null
}
