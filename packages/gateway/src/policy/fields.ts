import type { AgentStatus, Grade } from '@countersign/sdk'
import {
  LEVELS,
  type Level,
  type LevelAction,
  type Limit,
  type Policy,
  type Route,
  type Rules,
} from './policy.ts'
import {
  did,
  flag,
  listOf,
  numberFrom,
  oneOf,
  orNull,
  type Reader,
  record,
  textThat,
} from './readers.ts'
import { isPlain } from './rules-of.ts'

/** A field of a policy: how it is read, what it is where it is left out, and what it means. README.md is held to it. */
export interface Field<T> {
  readonly read: Reader<T>
  readonly otherwise: T
  readonly means: string
}

/** The contract's suggested policy (section 5). */
const SUGGESTED: Rules['levels'] = {
  none: 'deny',
  unknown: 'deny',
  unverified: 'limit',
  verified: 'allow',
}

const action = oneOf<LevelAction>('allow', 'limit', 'deny')

const levels: Reader<Rules['levels']> = Object.assign(
  (value: unknown, place: string, reading: Parameters<Reader<unknown>>[2]) => {
    const given = record(value, place, LEVELS, reading)
    const read = (level: Level) =>
      level in given ? action(given[level], `${place}.${level}`, reading) : undefined
    return Object.fromEntries(
      LEVELS.flatMap((level) => (read(level) === undefined ? [] : [[level, given[level]]])),
    ) as Rules['levels']
  },
  {
    takes: `an object: each of ${LEVELS.map((each) => `\`${each}\``).join(', ')} → ${action.takes}`,
  },
)

const limit: Reader<Limit> = Object.assign(
  (value: unknown, place: string, reading: Parameters<Reader<unknown>>[2]) => {
    const { requests = 60, seconds = 60 } = record(value, place, ['requests', 'seconds'], reading)
    const read = {
      requests: numberFrom(1, 1_000_000)(requests, `${place}.requests`, reading),
      seconds: numberFrom(1, 86_400)(seconds, `${place}.seconds`, reading),
    }
    return read as Limit
  },
  { takes: 'an object with `requests` and `seconds`' },
)

/** Fields that a route can have as well. */
export const RULE_FIELDS: { readonly [K in keyof Rules]: Field<Rules[K]> } = {
  levels: {
    read: levels,
    otherwise: SUGGESTED,
    means:
      'What to do with each level. `none`: no identification header. `unknown`: a header that cannot be read, or names no agent. `unverified`: the owner is not verified. `verified`: the owner is. Levels that are left out stay as they are',
  },
  statuses: {
    read: listOf(
      oneOf<AgentStatus>('active', 'suspended', 'revoked'),
      'a list of `active`, `suspended`, `revoked`',
    ),
    otherwise: ['active'],
    means: 'Certificates of another status are refused, whatever else speaks for them',
  },
  minimumGrade: {
    read: orNull(oneOf<Grade>('A', 'B', 'C', 'D', 'E')),
    otherwise: null,
    means: 'Agents of a worse grade are refused. Costs a second question to the service',
  },
  identityMethods: {
    read: orNull(
      listOf(
        textThat((id) => /^[\x21-\x7e]{1,64}$/.test(id), 'the id of an identity provider'),
        'a list of identity providers',
        1,
      ),
    ),
    otherwise: null,
    means:
      'Owners who are verified by another provider count as `unverified`. `null`: any provider',
  },
  allow: {
    read: listOf(did, 'a list of DIDs'),
    otherwise: [],
    means:
      'Let in whatever their level and grade, if their status is allowed. Anyone can name them: see `requireProof`',
  },
  deny: {
    read: listOf(did, 'a list of DIDs'),
    otherwise: [],
    means: 'Refused, whatever else speaks for them. Beats `allow`',
  },
  requireProof: {
    read: flag,
    otherwise: false,
    means:
      'Refuse agents that only say who they are: they need a session of your `agentSignIn` (middlewares with `sessions`)',
  },
  unreachable: {
    read: oneOf('deny', 'flag', 'allow', 'stale'),
    otherwise: 'deny',
    means:
      'While the service cannot be asked: refuse (503); let in, marked `flag`; let in; or go by the last answer, and refuse where there is none that is young enough',
  },
  maxStaleSeconds: {
    read: numberFrom(0, 86_400),
    otherwise: 300,
    means:
      'How old that last answer may be: so long a revoked agent may stay in while the service is away',
  },
}

/** Fields that only the policy as a whole has, but for its routes. */
export const POLICY_FIELDS: {
  readonly [K in Exclude<keyof Policy, keyof Rules | 'routes'>]: Field<Policy[K]>
} = {
  mode: {
    read: oneOf('enforce', 'shadow'),
    otherwise: 'enforce',
    means: '`shadow` decides, tells (`onDecision`, headers, logs) and refuses nobody',
  },
  limit: {
    read: limit,
    otherwise: { requests: 60, seconds: 60 },
    means:
      'For `limit`: so many requests in so many seconds for each agent; where none is known, for each address (IPv6: its /64)',
  },
  cacheSeconds: {
    read: numberFrom(0, 60),
    otherwise: 5,
    means:
      'How long an answer of the service is used before it is asked again. A revoked agent is refused within that time',
  },
  preflight: {
    read: oneOf('pass', 'decide'),
    otherwise: 'pass',
    means: 'Whether a CORS preflight is let through, or decided like any request',
  },
}

/** What a route has besides rules. */
export const ROUTE_FIELDS: {
  readonly [K in Exclude<keyof Route, keyof Rules>]: Field<Route[K] | undefined>
} = {
  path: {
    read: textThat(
      (path) => /^\/[^\s?#*]*$/.test(path.replace(/\/\*$/, '/')) && isPlain(path),
      '`/exactly` or `/all/below/*`, as it stands in the URL, with nothing encoded that need not be',
    ),
    otherwise: undefined,
    means: 'Which requests, in any letter case',
  },
  methods: {
    read: orNull(
      listOf(
        textThat((name) => /^[A-Z]+$/.test(name), 'a method such as GET'),
        'a list of methods',
        1,
      ),
    ),
    otherwise: null,
    means: '`null`: every method',
  },
}
