import { namingFor } from '@countersign/protocol'
import { agentSignIn, Registry } from '@countersign/sdk'
import type { SessionReader } from '../options.ts'
import type { Field } from '../policy/fields.ts'
import type { Policy } from '../policy/policy.ts'
import { PolicyError } from '../policy/policy-error.ts'
import { readPolicyAt } from '../policy/read-policy.ts'
import {
  numberFrom,
  oneOf,
  type Reader,
  type Reading,
  record,
  textThat,
} from '../policy/readers.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** What countersign-gateway runs by: its file, read. */
export interface Config {
  readonly registry: Registry
  /** The address and names that the registry was made of, as text: to tell whether another one is needed. */
  readonly registryKey: string
  readonly policy: Policy
  readonly sessions: SessionReader | undefined
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  readonly timeoutMs: number
  readonly drainSeconds: number
}

type Env = Readonly<Record<string, string | undefined>>

const anyText = textThat(() => true, 'a text')

/** The fields of the file, but for `policy`. README.md is held to it. */
export const CONFIG_FIELDS = {
  service: {
    read: anyText,
    otherwise: '',
    means: 'The address of the service, such as `https://id.example`. Needed',
  },
  shortName: {
    read: anyText,
    otherwise: 'svc',
    means: "The deployment's `SHORT_NAME`",
  },
  idHeader: {
    read: anyText,
    otherwise: 'ServiceID',
    means: "The deployment's `ID_HEADER`",
  },
  host: {
    read: textThat((text) => /^[^\s/]+$/.test(text), 'an address or host name'),
    otherwise: '127.0.0.1',
    means: 'Where to listen. Only proxies should reach it: it believes what they say of requests',
  },
  port: {
    read: numberFrom(0, 65_535),
    otherwise: 8181,
    means: 'Where to listen. 0: at any free port; the log says which',
  },
  logLevel: {
    read: oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
    otherwise: 'info',
    means:
      'A line of JSON for each decision: `info` where the request goes on, `warn` where it is refused, or would be',
  },
  timeoutMs: {
    read: numberFrom(1, 60_000),
    otherwise: 2000,
    means: 'How long an answer of the service may take',
  },
  drainSeconds: {
    read: numberFrom(0, 600),
    otherwise: 1,
    means:
      'At SIGTERM: how long it goes on answering, and says by `/readyz` and `Connection: close` that it is about to end',
  },
  audience: {
    read: anyText,
    otherwise: '',
    means:
      'With `sessionSecretVariable`: the audience of the `agentSignIn` of the site behind, whose sessions count as proof',
  },
  sessionSecretVariable: {
    read: textThat(
      (text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text),
      'the name of an environment variable',
    ),
    otherwise: '',
    means: "The environment variable that has that `agentSignIn`'s secret",
  },
} as const satisfies Record<string, Field<string | number>>

type Values = {
  readonly [K in keyof typeof CONFIG_FIELDS]: (typeof CONFIG_FIELDS)[K] extends {
    read: Reader<infer T>
  }
    ? T
    : never
}

/**
 * Reads the file of countersign-gateway.
 * @param before what it runs by: the same service is not made anew
 * @throws PolicyError with every mistake at once
 */
export function readConfig(text: string, env: Env, before?: Config): Config {
  const mistakes: string[] = []
  const reading: Reading = { naming: namingFor(), mistakes }
  const given = record(parse(text), 'file', [...Object.keys(CONFIG_FIELDS), 'policy'], reading)
  const values = readValues(given, reading)
  const naming = attempt(mistakes, () => namingFor(values.shortName, values.idHeader))
  const names = { shortName: values.shortName, idHeader: values.idHeader }
  const registryKey = JSON.stringify([values.service, names])
  const registry =
    before?.registryKey === registryKey
      ? before.registry
      : attempt(mistakes, () => new Registry(values.service, { naming: names }))
  const policy = readPolicyAt(given.policy, 'policy', { mistakes, naming: naming ?? namingFor() })
  const sessions = registry && attempt(mistakes, () => sessionsOf(values, registry, env))
  if (policy.requireProof && sessions === undefined) {
    mistakes.push('policy.requireProof needs audience and sessionSecretVariable')
  }
  if (mistakes.length > 0 || registry === null || sessions === null) {
    throw new PolicyError([...new Set(mistakes)])
  }
  const { host, port, logLevel, timeoutMs, drainSeconds } = values
  const listening = { host, port, logLevel, timeoutMs, drainSeconds }
  return { registry, registryKey, policy, sessions, ...listening }
}

function readValues(given: Readonly<Record<string, unknown>>, reading: Reading): Values {
  const entries = Object.entries<Field<string | number>>(CONFIG_FIELDS).map(([name, field]) => {
    const value = given[name]
    if (value === undefined) return [name, field.otherwise]
    return [name, field.read(value, name, reading) ?? field.otherwise]
  })
  return Object.fromEntries(entries) as Values
}

/** @returns undefined where the file asks for none */
function sessionsOf(
  { audience, sessionSecretVariable: variable }: Values,
  registry: Registry,
  env: Env,
): SessionReader | undefined {
  if (audience === '' && variable === '') return undefined
  if (audience === '' || variable === '') {
    throw new Error('audience and sessionSecretVariable go together')
  }
  const secret = env[variable]
  if (!secret) throw new Error(`the environment has no ${variable}`)
  return agentSignIn({ registry, audience, secret })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PolicyError([`the file is not JSON: ${(error as Error).message}`])
  }
}

function attempt<T>(mistakes: string[], make: () => T): T | null {
  try {
    return make()
  } catch (error) {
    mistakes.push((error as Error).message)
    return null
  }
}
