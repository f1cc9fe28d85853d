import { directoryUrl } from '@countersign/protocol'
import type { AgentStatus, Grade, SignatureProfile } from '@countersign/sdk'
import {
  LEVELS,
  type Level,
  type LevelAction,
  type Limit,
  type Policy,
  type PolicyDirectory,
  type RefusalResponse,
  type Route,
  type Rules,
} from './policy.ts'
import {
  boolean,
  did,
  listOf,
  nullable,
  numberBetween,
  oneOf,
  type ReadContext,
  type Reader,
  record,
  stringMatching,
} from './readers.ts'
import { isUnambiguousPath } from './route-matcher.ts'

/** A field of a policy. A test checks the table in README.md against these fields. */
export interface Field<T> {
  readonly read: Reader<T>
  readonly defaultValue: T
  readonly description: string
}

/** With escapes, nginx passes it on in a header. */
const MAX_MESSAGE_LENGTH = 300

/** The contract's suggested policy (section 5). */
const SUGGESTED: Rules['levels'] = {
  none: 'deny',
  unknown: 'deny',
  directory: 'deny',
  unverified: 'limit',
  verified: 'allow',
}

const action = oneOf<LevelAction>('allow', 'limit', 'deny')

const levels: Reader<Rules['levels']> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const given = record(value, place, LEVELS, context)
    const read = (level: Level) =>
      level in given ? action(given[level], `${place}.${level}`, context) : undefined
    return Object.fromEntries(
      LEVELS.flatMap((level) => (read(level) === undefined ? [] : [[level, given[level]]])),
    ) as Rules['levels']
  },
  {
    accepts: `an object: each of ${LEVELS.map((each) => `\`${each}\``).join(', ')} → ${action.accepts}`,
  },
)

const limit: Reader<Limit> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { requests = 60, seconds = 60 } = record(value, place, ['requests', 'seconds'], context)
    const read = {
      requests: numberBetween(1, 1_000_000)(requests, `${place}.requests`, context),
      seconds: numberBetween(1, 86_400)(seconds, `${place}.seconds`, context),
    }
    return read as Limit
  },
  { accepts: 'an object with `requests` and `seconds`' },
)

const directoryAddress = stringMatching(
  (text) => directoryUrl(text) !== null,
  'an https address at a host name, such as `https://bots.example`',
)

const directory: Reader<PolicyDirectory> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { url, profile = 'strict' } = record(value, place, ['url', 'profile'], context)
    const address = directoryAddress(url, `${place}.url`, context)
    return {
      url: address && directoryUrl(address),
      profile: oneOf<SignatureProfile>('strict', 'wba')(profile, `${place}.profile`, context),
    } as PolicyDirectory
  },
  { accepts: 'an object with `url` and `profile`' },
)

const refusalStatus: Reader<402 | 403 | 404> = Object.assign(
  (value: unknown, place: string, { mistakes }: ReadContext) => {
    if (value === 402 || value === 403 || value === 404) return value
    mistakes.push(`${place} takes ${refusalStatus.accepts}`)
    return undefined
  },
  { accepts: '`402`, `403` or `404`' },
)

const refusalMessage = stringMatching(
  (text) => text.length > 0 && text.length <= MAX_MESSAGE_LENGTH && text.isWellFormed(),
  'a text of at most 300 characters',
)

const refusal: Reader<RefusalResponse> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { status, message } = record(value, place, ['status', 'message'], context)
    return {
      ...(status !== undefined && { status: refusalStatus(status, `${place}.status`, context) }),
      ...(message !== undefined && {
        message: refusalMessage(message, `${place}.message`, context),
      }),
    } as RefusalResponse
  },
  { accepts: 'an object with `status` (`402`, `403` or `404`), `message` or both' },
)

/** Fields of a policy that a route can override. */
export const RULE_FIELDS: { readonly [K in keyof Rules]: Field<Rules[K]> } = {
  levels: {
    read: levels,
    defaultValue: SUGGESTED,
    description:
      'What to do with each level. `none`: no identification header. `unknown`: a header that cannot be read, or names no agent. `directory`: signed with a key of one of `directories`. `unverified`: the owner is not verified. `verified`: the owner is. Levels that are left out stay as they are',
  },
  statuses: {
    read: listOf(
      oneOf<AgentStatus>('active', 'suspended', 'revoked'),
      'a list of `active`, `suspended`, `revoked`',
    ),
    defaultValue: ['active'],
    description: 'Certificates of another status are refused, whatever else speaks for them',
  },
  minimumGrade: {
    read: nullable(oneOf<Grade>('A', 'B', 'C', 'D', 'E')),
    defaultValue: null,
    description: 'Agents of a worse grade are refused. Costs a second question to the service',
  },
  minimumKeyAgeSeconds: {
    read: numberBetween(0, 2_592_000),
    defaultValue: 0,
    description:
      'Agents whose key is younger are refused: the owner can contest a rotation for 72 hours (259200). Costs a further question to the service',
  },
  identityMethods: {
    read: nullable(
      listOf(
        stringMatching((id) => /^[\x21-\x7e]{1,64}$/.test(id), 'the id of an identity provider'),
        'a list of identity providers',
        1,
      ),
    ),
    defaultValue: null,
    description:
      'Owners who are verified by another provider count as `unverified`. `null`: any provider',
  },
  allow: {
    read: listOf(did, 'a list of DIDs'),
    defaultValue: [],
    description:
      'Let in whatever their level and grade, if their status is allowed. Anyone can name them: see `requireProof`',
  },
  deny: {
    read: listOf(did, 'a list of DIDs'),
    defaultValue: [],
    description: 'Refused, whatever else speaks for them. Beats `allow`',
  },
  requireProof: {
    read: boolean,
    defaultValue: false,
    description:
      'Refuse agents that do not prove possession of their key, by a signature (`audiences`) or a session (`sessions`)',
  },
  refusal: {
    read: nullable(refusal),
    defaultValue: null,
    description:
      'What a refusal by these rules says instead of 401 or 403 and the reason. `404` hides that there is anything. Does not apply to 429 and 503',
  },
  unreachable: {
    read: oneOf('deny', 'flag', 'allow', 'stale'),
    defaultValue: 'deny',
    description:
      'While the service cannot be asked: refuse (503); let in, marked `flag`; let in; or go by the last answer, and refuse where there is none that is young enough',
  },
  maxStaleSeconds: {
    read: numberBetween(0, 86_400),
    defaultValue: 300,
    description:
      'How old that last answer may be: so long a revoked agent may stay in while the service is away',
  },
}

/** Fields of a policy that a route cannot override, except `routes`. */
export const POLICY_FIELDS: {
  readonly [K in Exclude<keyof Policy, keyof Rules | 'routes'>]: Field<Policy[K]>
} = {
  mode: {
    read: oneOf('enforce', 'shadow'),
    defaultValue: 'enforce',
    description: '`shadow` decides, tells (`onDecision`, headers, logs) and refuses nobody',
  },
  limit: {
    read: limit,
    defaultValue: { requests: 60, seconds: 60 },
    description:
      'For `limit`: so many requests in so many seconds for each agent; where none is known, for each address (IPv6: its /64)',
  },
  cacheSeconds: {
    read: numberBetween(0, 60),
    defaultValue: 5,
    description:
      'How long an answer of the service is used before it is asked again. A revoked agent is refused within that time',
  },
  preflight: {
    read: oneOf('pass', 'decide'),
    defaultValue: 'pass',
    description: 'Whether a CORS preflight is let through, or decided like any request',
  },
  directories: {
    read: listOf(
      directory,
      'a list of objects with `url` (https) and `profile` (`strict` or `wba`)',
    ),
    defaultValue: [],
    description:
      '[Key directories](#signers-of-other-directories) of signers that are no agents of the service. `levels.directory` says what to do with them',
  },
}

/** Fields that only routes have. */
export const ROUTE_FIELDS: {
  readonly [K in Exclude<keyof Route, keyof Rules>]: Field<Route[K] | undefined>
} = {
  path: {
    read: stringMatching(
      (path) => /^\/[^\s?#*]*$/.test(path.replace(/\/\*$/, '/')) && isUnambiguousPath(path),
      '`/exactly` or `/all/below/*`, as it stands in the URL, with nothing encoded that need not be',
    ),
    defaultValue: undefined,
    description: 'Which requests, in any letter case',
  },
  methods: {
    read: nullable(
      listOf(
        stringMatching((name) => /^[A-Z]+$/.test(name), 'a method such as GET'),
        'a list of methods',
        1,
      ),
    ),
    defaultValue: null,
    description: '`null`: every method',
  },
}
