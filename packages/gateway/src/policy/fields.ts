import {
  directoryUrl,
  isUnambiguousPath,
  MAX_DIRECTORY_LIFETIME,
  parsePolicy,
} from '@countersign/protocol'
import type { AgentStatus, Grade, SignatureProfile } from '@countersign/sdk'
import { issuer, MAX_STALE_SECONDS, offline } from './issuer-fields.ts'
import {
  LEVELS,
  type Level,
  type LevelAction,
  type Limit,
  type Policy,
  type PolicyDirectory,
  type RefusalResponse,
  type RequireLogged,
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
import { approval, delegation } from './signed-request-fields.ts'

/** A field of a policy. A test checks the table in README.md against these fields. */
export interface Field<T> {
  readonly read: Reader<T>
  readonly defaultValue: T
  readonly description: string
}

/** With escapes, nginx passes it on in a header. */
const MAX_MESSAGE_LENGTH = 300

/** `requireLogged` */
const requireLogged: Reader<RequireLogged> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { policy } = record(value, place, ['policy'], context)
    const fault = policyFault(policy)
    if (fault === null) return { policy: policy as string }
    context.mistakes.push(`${place}.policy is not a tlog-policy with a log and a quorum: ${fault}`)
    return undefined
  },
  {
    accepts:
      'an object with `policy`, a text in the syntax of [tlog-policy](https://c2sp.org/tlog-policy)',
  },
)

/** @returns what is wrong with a tlog-policy, in a sentence; null: nothing */
function policyFault(text: unknown): string | null {
  if (typeof text !== 'string') return 'it is not a text'
  try {
    return parsePolicy(text).logs.length === 0 ? 'it has no line "log"' : null
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '')
  }
}

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
    const names = ['url', 'profile', 'maxLifetimeSeconds'] as const
    const given = record(value, place, names, context)
    const { url, profile = 'strict', maxLifetimeSeconds = MAX_DIRECTORY_LIFETIME } = given
    const address = directoryAddress(url, `${place}.url`, context)
    return {
      url: address && directoryUrl(address),
      profile: oneOf<SignatureProfile>('strict', 'wba')(profile, `${place}.profile`, context),
      maxLifetimeSeconds: numberBetween(1, MAX_DIRECTORY_LIFETIME)(
        maxLifetimeSeconds,
        `${place}.maxLifetimeSeconds`,
        context,
      ),
    } as PolicyDirectory
  },
  { accepts: 'an object with `url`, `profile` and `maxLifetimeSeconds`' },
)

const refusalStatus: Reader<402 | 403 | 404> = Object.assign(
  (value: unknown, place: string, { mistakes }: ReadContext) => {
    if (value === 402 || value === 403 || value === 404) return value
    mistakes.push(`${place} must be ${refusalStatus.accepts}`)
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
      'The action for each level. `none`: no identification header. `unknown`: an unreadable header, or an unknown agent. `directory`: signed with a key of one of `directories`. `unverified`: the owner is not verified. `verified`: the owner is verified. Omitted levels keep their value',
  },
  statuses: {
    read: listOf(
      oneOf<AgentStatus>('active', 'suspended', 'revoked'),
      'a list of `active`, `suspended`, `revoked`',
    ),
    defaultValue: ['active'],
    description:
      'Accepted certificate statuses. Agents with another status are refused, even if `allow` lists them',
  },
  minimumGrade: {
    read: nullable(oneOf<Grade>('A', 'B', 'C', 'D', 'E')),
    defaultValue: null,
    description: 'Agents with a lower grade are refused. Requires a second request to the service',
  },
  minimumKeyAgeSeconds: {
    read: numberBetween(0, 2_592_000),
    defaultValue: 0,
    description:
      'Agents whose key is younger are refused: the owner can contest a rotation for 72 hours (259200). Costs a further question to the service',
  },
  minimumOwnerAgeSeconds: {
    read: numberBetween(0, 2_592_000),
    defaultValue: 0,
    description:
      'Agents that were transferred to their owner less than this ago are refused. Agents that were never transferred pass. Requires a further request to the service',
  },
  requireLogged: {
    read: nullable(requireLogged),
    defaultValue: null,
    description:
      'Agents whose key is not in one of these [transparency logs](#require-logged-keys), under a checkpoint with the quorum, are refused. Requires a further request to the service, and another one once for each key',
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
      'Accepted identity providers. Owners verified by another provider count as `unverified`. `null`: any provider',
  },
  allow: {
    read: listOf(did, 'a list of DIDs'),
    defaultValue: [],
    description:
      'Agents to admit whatever their level and grade, if their status is accepted. Use it with `requireProof`: anyone can send the header of these agents',
  },
  deny: {
    read: listOf(did, 'a list of DIDs'),
    defaultValue: [],
    description: 'Agents to refuse in any case. Takes precedence over `allow`',
  },
  delegation: {
    read: nullable(delegation),
    defaultValue: null,
    description:
      'Accepted [delegates of agents](#delegated-keys): at most `maxDepth` delegations from the agent to the key, the first for at most `maxSeconds`; with `mcp`, also with limits on calls of MCP. Omitted members are `1`, `3600` and `false`. `null`: no delegate is accepted',
  },
  approval: {
    read: nullable(approval),
    defaultValue: null,
    description:
      'Each request needs an [approval](#approvals) by the owner of its agent, which admits it once: decided at most `maxAgeSeconds` ago, in one of the ways `by`. With `bodyCheckedByApplication`, your application compares the body. Omitted members are `600`, `["passkey"]` and `false`. Implies `requireProof` by signature. `null`: none',
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
      'The status and message of refusals, instead of 401 or 403 and the reason. `404` hides that the page exists. Does not apply to 429 and 503',
  },
  unreachable: {
    read: oneOf('deny', 'flag', 'allow', 'stale'),
    defaultValue: 'deny',
    description:
      'The action while the service is unreachable, or it is not known whether a key is logged (`requireLogged`). `deny`: refuse with 503. `flag`: admit and mark as `flag`. `allow`: admit. `stale`: use the last response, and refuse if there is none within `maxStaleSeconds`',
  },
  maxStaleSeconds: {
    read: numberBetween(0, 86_400),
    defaultValue: 300,
    description:
      'The maximum age of a stale response. A revoked agent can stay admitted for this long while the service is unreachable',
  },
}

/** Fields of a policy that a route cannot override, except `routes`. */
export const POLICY_FIELDS: {
  readonly [K in Exclude<keyof Policy, keyof Rules | 'routes'>]: Field<Policy[K]>
} = {
  mode: {
    read: oneOf('enforce', 'shadow'),
    defaultValue: 'enforce',
    description: '`shadow` reports decisions (`onDecision`, headers, logs) and refuses no request',
  },
  limit: {
    read: limit,
    defaultValue: { requests: 60, seconds: 60 },
    description:
      'The rate limit of the action `limit`, for each agent; if no agent is known, for each address (IPv6: /64)',
  },
  cacheSeconds: {
    read: numberBetween(0, 60),
    defaultValue: 5,
    description:
      'How long responses of the service are cached. A revoked agent is refused within this time',
  },
  preflight: {
    read: oneOf('pass', 'decide'),
    defaultValue: 'pass',
    description: 'Whether CORS preflights pass, or are decided like other requests',
  },
  directories: {
    read: listOf(
      directory,
      'a list of objects with `url` (https), `profile` (`strict` or `wba`) and `maxLifetimeSeconds` (1 to 86400)',
    ),
    defaultValue: [],
    description:
      '[Key directories](#signers-of-other-directories) of signers that are not agents of the service. `levels.directory` is the action for them',
  },
  trust: {
    read: listOf(
      issuer,
      'a list of objects with `issuer` (an https origin), `didPrefix` (such as `svc:agent:`) and, optionally, `jwks` and `idHeader`',
    ),
    defaultValue: [],
    description:
      '[Issuers](#without-a-question-to-the-service) whose certificates decide without a question to the service, each with the prefix of its DIDs. `jwks` pins its keys. `idHeader` is its identification header if that is not `ServiceID`',
  },
  offline: {
    read: offline,
    defaultValue: { maxStaleSeconds: MAX_STALE_SECONDS },
    description:
      'How old the status of an agent may be that is decided by its certificate. If it is older, `unreachable` decides',
  },
}

/** Fields that only routes have. */
export const ROUTE_FIELDS: {
  readonly [K in Exclude<keyof Route, keyof Rules>]: Field<Route[K] | undefined>
} = {
  path: {
    read: stringMatching(
      (path) => /^\/[^\s?#*]*$/.test(path.replace(/\/\*$/, '/')) && isUnambiguousPath(path),
      '`/exact` or `/prefix/*`, as in the URL, without unnecessary percent-encoding',
    ),
    defaultValue: undefined,
    description: 'The path of the requests, case-insensitive',
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
