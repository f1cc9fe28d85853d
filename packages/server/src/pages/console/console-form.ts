import { LEVELS, type Level, POLICY_FIELDS, RULE_FIELDS } from '@countersign/gateway/internal'

/** The fields of the form, as typed. */
export interface ConsoleForm {
  /** The origin of the site. */
  readonly origin: string
  readonly mode: string
  readonly levels: LevelFields
  readonly directory: string
  readonly directoryProfile: string
  readonly requireProof: string
  readonly minimumGrade: string
  readonly requests: string
  readonly seconds: string
  readonly unreachable: string
  readonly maxStaleSeconds: string
  readonly route: RouteFields
  /** A `CallerKind`. */
  readonly caller: string
  /** Any reference that `checkAgent` understands. */
  readonly agent: string
  readonly method: string
  /** Empty: the path of the route, at the origin of the site. */
  readonly url: string
  /** Raw header lines, `Name: value`. */
  readonly headers: string
  /** Not empty: the service does not answer the gateway. */
  readonly away: string
}

export type LevelFields = Readonly<Record<Level, string>>

/** Empty fields stand for what the rest of the policy says. */
export interface RouteFields {
  /** Empty: there is no route. */
  readonly path: string
  /** Separated by commas or spaces. */
  readonly methods: string
  readonly requireProof: string
  readonly levels: LevelFields
  readonly status: string
}

/** Who sends the simulated request. `pasted`: the pasted header lines are the request, and nothing is added to it. */
export const CALLERS = ['signature', 'session', 'header', 'none', 'directory', 'pasted'] as const
export type CallerKind = (typeof CALLERS)[number]

/**
 * Fields of the policy that are empty or missing have their default.
 * @param field the value of a field by its name; empty if it was not sent
 */
export function readConsoleForm(field: (name: string) => string): ConsoleForm {
  const { mode, limit } = POLICY_FIELDS
  const { levels, requireProof, minimumGrade, unreachable, maxStaleSeconds } = RULE_FIELDS
  const or = (name: string, { defaultValue }: { readonly defaultValue: unknown }) =>
    field(name).trim() || String(defaultValue ?? '')
  const levelFields = (prefix: string, defaults: Partial<LevelFields>) =>
    Object.fromEntries(
      LEVELS.map((each) => [each, field(`${prefix}.${each}`) || (defaults[each] ?? '')]),
    ) as LevelFields
  return {
    origin: field('origin').trim(),
    mode: or('mode', mode),
    levels: levelFields('levels', levels.defaultValue),
    directory: field('directory').trim(),
    directoryProfile: field('directoryProfile'),
    requireProof: or('requireProof', requireProof),
    minimumGrade: or('minimumGrade', minimumGrade),
    requests: or('requests', { defaultValue: limit.defaultValue.requests }),
    seconds: or('seconds', { defaultValue: limit.defaultValue.seconds }),
    unreachable: or('unreachable', unreachable),
    maxStaleSeconds: or('maxStaleSeconds', maxStaleSeconds),
    route: {
      path: field('route.path').trim(),
      methods: field('route.methods').trim(),
      requireProof: field('route.requireProof'),
      levels: levelFields('route.levels', {}),
      status: field('route.status'),
    },
    caller: field('caller'),
    agent: field('agent').trim(),
    method: field('method').trim() || 'GET',
    url: field('url').trim(),
    headers: field('headers'),
    away: field('away'),
  }
}

/** The form before anybody has filled it in. */
export const EMPTY_FORM: ConsoleForm = {
  ...readConsoleForm(() => ''),
  origin: 'https://shop.example',
}
