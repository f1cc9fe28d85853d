import { readFileSync } from 'node:fs'
import { namingFor } from '@countersign/protocol'
import { memoryNonceStore, type NonceStore, Registry } from '@countersign/sdk'
import type { Field } from '../policy/fields.ts'
import { trustMistakes } from '../policy/issuer-fields.ts'
import type { Policy } from '../policy/policy.ts'
import { collectMistake, PolicyError } from '../policy/policy-error.ts'
import {
  approvalMistakes,
  audienceMistakes,
  placesRequiringProof,
  readPolicyAt,
} from '../policy/read-policy.ts'
import {
  listOf,
  numberBetween,
  oneOf,
  type ReadContext,
  type Reader,
  record,
  stringMatching,
} from '../policy/readers.ts'
import { readSessions, type SessionSettings } from './session-settings.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** The validated configuration of countersign-gateway. */
export interface Config {
  readonly registry: Registry
  /** Identifies the service's URL and names, to tell whether a changed configuration needs a new registry. */
  readonly registryKey: string
  readonly policy: Policy
  /** Origins at which agents reach the site. */
  readonly audiences: readonly string[]
  /** The public address of the service; empty: `service`. */
  readonly issuer: string
  /** The URL of a Redis; empty: the memory of this process. */
  readonly nonces: string
  readonly sessions: SessionSettings | undefined
  /** The sign-in challenges that were used, which a changed configuration keeps. */
  readonly usedChallenges: NonceStore
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  readonly timeoutMs: number
  readonly drainSeconds: number
}

type Env = Readonly<Record<string, string | undefined>>

const anyText = stringMatching(() => true, 'a text')

const origin = stringMatching(
  (text) => URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text,
  'an origin such as `https://shop.example`',
)

/** Not one of the paths that this command has already, and written as URLs have it. */
function isSignInPath(text: string): boolean {
  if (!/^\/[\w.~/-]+$/.test(text) || new URL(text, 'https://site.invalid').pathname !== text)
    return false
  return !/^\/(auth|healthz|readyz|metrics)(\/|$)/.test(text) && !text.includes('//')
}

function isRedisUrl(text: string): boolean {
  return URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol)
}

type FieldValue = string | number | readonly string[]

/** The fields of the file, except `policy`. A test checks the table in README.md against them. */
export const CONFIG_FIELDS = {
  service: {
    read: anyText,
    defaultValue: '',
    description: 'The address of the service, such as `https://id.example`. Required',
  },
  shortName: {
    read: anyText,
    defaultValue: 'svc',
    description: "The deployment's `SHORT_NAME`",
  },
  idHeader: {
    read: anyText,
    defaultValue: 'ServiceID',
    description: "The deployment's `ID_HEADER`",
  },
  host: {
    read: stringMatching((text) => /^[^\s/]+$/.test(text), 'an address or host name'),
    defaultValue: '127.0.0.1',
    description:
      'The address to listen on. Only your proxies may reach it, because the gateway trusts their headers',
  },
  port: {
    read: numberBetween(0, 65_535),
    defaultValue: 8181,
    description: 'The port to listen on. 0: any free port, which the log shows',
  },
  logLevel: {
    read: oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
    defaultValue: 'info',
    description:
      'The lowest level to log. Admitted requests are logged as `info`; requests that are refused, or would be in shadow mode, as `warn`',
  },
  timeoutMs: {
    read: numberBetween(1, 60_000),
    defaultValue: 2000,
    description: 'The time limit for a response of the service',
  },
  drainSeconds: {
    read: numberBetween(0, 600),
    defaultValue: 1,
    description:
      'On SIGTERM: how long it continues to serve requests while `/readyz` and `Connection: close` announce the shutdown',
  },
  audiences: {
    read: listOf(origin, 'a list of origins such as `https://shop.example`'),
    defaultValue: [] as readonly string[],
    description:
      'The origins at which agents reach the site. Required to accept signed requests as proof',
  },
  issuer: {
    read: origin,
    defaultValue: '',
    description: "The service's public origin (`BASE_URL`), if `service` is an internal address",
  },
  nonces: {
    read: stringMatching(
      isRedisUrl,
      'a URL such as `redis://127.0.0.1:6379/0`, or with `rediss:` for TLS',
    ),
    defaultValue: '',
    description:
      'The Redis database for used nonces, shared by all gateways of the site. Requires the package `ioredis`, and a restart if it changes. Default: the memory of this process',
  },
  noncesFile: {
    read: anyText,
    defaultValue: '',
    description:
      'The file with the URL of `nonces`, instead: for a URL with a password. A trailing line break is ignored',
  },
  sessionSecretVariable: {
    read: stringMatching(
      (text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text),
      'the name of an environment variable',
    ),
    defaultValue: '',
    description:
      'The environment variable with the session secret (of `agentSignIn` or `signInPath`), at least 32 bytes. Sessions for one of `audiences` are then accepted as proof',
  },
  sessionSecretFile: {
    read: anyText,
    defaultValue: '',
    description:
      'The file with the session secret, instead of the variable. A trailing line break is ignored',
  },
  signInPath: {
    read: stringMatching(isSignInPath, 'a path such as `/agent-sign-in`'),
    defaultValue: '',
    description:
      'The path of the sign-in endpoint. The proxy must forward it to the gateway, and 401 responses name it. Requires a session secret and `audiences`. `policy.limit` limits its requests for each address',
  },
} as const satisfies Record<string, Field<FieldValue>>

type Values = {
  readonly [K in keyof typeof CONFIG_FIELDS]: (typeof CONFIG_FIELDS)[K] extends {
    read: Reader<infer T>
  }
    ? T
    : never
}

/**
 * Parses and validates the configuration file.
 * @param env the environment variables, which hold the session secret
 * @param previous the current configuration, whose registry is kept if the service is the same
 * @throws PolicyError listing every mistake
 */
export function readConfig(text: string, env: Env, previous?: Config): Config {
  const mistakes: string[] = []
  const context: ReadContext = { naming: namingFor(), mistakes }
  const given = record(parse(text), 'file', [...Object.keys(CONFIG_FIELDS), 'policy'], context)
  const values = readValues(given, context)
  const naming = collectMistake(mistakes, () => namingFor(values.shortName, values.idHeader))
  const names = { shortName: values.shortName, idHeader: values.idHeader }
  const registryKey = JSON.stringify([values.service, names])
  const registry =
    previous?.registryKey === registryKey
      ? previous.registry
      : collectMistake(mistakes, () => new Registry(values.service, { naming: names }))
  const policy = readPolicyAt(withLogPolicies(given.policy, mistakes), 'policy', {
    mistakes,
    naming: naming ?? namingFor(),
  })
  const usedChallenges = previous?.usedChallenges ?? memoryNonceStore()
  const sessions =
    registry && collectMistake(mistakes, () => readSessions(values, registry, usedChallenges, env))
  const nonces = collectMistake(mistakes, () => noncesOf(values))
  const { audiences, issuer } = values
  if (audiences.length === 0) {
    for (const place of placesRequiringProof(policy)) {
      mistakes.push(`${place}.requireProof requires audiences`)
    }
    mistakes.push(...audienceMistakes(policy))
  }
  const hasAudiences = audiences.length > 0
  mistakes.push(...approvalMistakes(policy, { hasAudiences, seesBodies: false }))
  if (registry && naming) {
    mistakes.push(...trustMistakes(policy, naming, issuer || registry.service))
  }
  if (mistakes.length > 0 || registry === null || sessions === null || nonces === null) {
    throw new PolicyError([...new Set(mistakes)])
  }
  const { host, port, logLevel, timeoutMs, drainSeconds } = values
  const listening = { host, port, logLevel, timeoutMs, drainSeconds }
  const origins = { audiences, issuer }
  return {
    registry,
    registryKey,
    policy,
    ...origins,
    nonces,
    sessions,
    usedChallenges,
    ...listening,
  }
}

/** @throws Error if both are given, or the file cannot be read or has no such URL, which is not shown */
function noncesOf({ nonces, noncesFile }: Pick<Values, 'nonces' | 'noncesFile'>): string {
  if (noncesFile === '') return nonces
  if (nonces !== '') throw new Error('nonces and noncesFile cannot be combined')
  const text = readFileSync(noncesFile, 'utf8').replace(/\r?\n$/, '')
  if (!isRedisUrl(text)) throw new Error('noncesFile must have a redis: or rediss: URL')
  return text
}

function readValues(given: Readonly<Record<string, unknown>>, context: ReadContext): Values {
  const entries = Object.entries<Field<FieldValue>>(CONFIG_FIELDS).map(([name, field]) => {
    const value = given[name]
    if (value === undefined) return [name, field.defaultValue]
    return [name, field.read(value, name, context) ?? field.defaultValue]
  })
  return Object.fromEntries(entries) as Values
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PolicyError([`the file is not JSON: ${(error as Error).message}`])
  }
}

/**
 * Replaces `requireLogged.policyFile`, which only the configuration file of this command has, by the text of that file, in a policy
 * and its routes. Everything else is left to the policy's reader.
 * @param mistakes gets a message for each file that cannot be read
 */
function withLogPolicies(policy: unknown, mistakes: string[]): unknown {
  if (!isRecord(policy)) return policy
  const { routes } = policy
  return {
    ...(withLogPolicy(policy, 'policy', mistakes) as object),
    ...(Array.isArray(routes) && {
      routes: routes.map((each, i) => withLogPolicy(each, `policy.routes[${i}]`, mistakes)),
    }),
  }
}

function withLogPolicy(rules: unknown, place: string, mistakes: string[]): unknown {
  if (!isRecord(rules) || !isRecord(rules.requireLogged)) return rules
  const { policyFile, ...requireLogged } = rules.requireLogged
  if (policyFile === undefined) return rules
  const field = `${place}.requireLogged.policyFile`
  if (typeof policyFile !== 'string') mistakes.push(`${field} must be the name of a file`)
  else if ('policy' in requireLogged) mistakes.push(`${field} cannot be combined with \`policy\``)
  else {
    try {
      const policy = readFileSync(policyFile, 'utf8')
      return { ...rules, requireLogged: { ...requireLogged, policy } }
    } catch (error) {
      mistakes.push(`${field}: ${(error as Error).message}`)
    }
  }
  return { ...rules, requireLogged: null }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
