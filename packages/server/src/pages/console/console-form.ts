import { POLICY_FIELDS, type PolicyInput, RULE_FIELDS } from '@countersign/gateway/internal'
import { type Codec, DIRECTORY, isRecord, NONE, POLICY, ROUTE } from './policy-codecs.ts'

/**
 * What is entered on the page. Fields of the policy have the name of their place in it, such as `levels.none` and
 * `routes.0.path`. In a route, an empty field stands for what the rest of the policy says.
 */
export interface ConsoleForm {
  readonly fields: Fields
  readonly routes: number
  readonly directories: number
}

export type Fields = ReadonlyMap<string, string>

/** More would make a page that is too large, and too slow to build. */
export const MAX_ROUTES = 40
export const MAX_DIRECTORIES = 10

/** Lists of groups of fields, by the first part of their names. */
export const LISTS = {
  routes: { codec: ROUTE, most: MAX_ROUTES },
  directories: { codec: DIRECTORY, most: MAX_DIRECTORIES },
} as const
export type ListName = keyof typeof LISTS
const LIST_NAMES = Object.keys(LISTS) as ListName[]

/** The fields of the page that are not part of the policy. `headers` keeps its spaces. */
const OTHER_FIELDS = ['origin', 'caller', 'agent', 'method', 'url', 'away', 'json'] as const

/** Who sends the simulated request. `pasted`: the pasted header lines are the request, and nothing is added to it. */
export const CALLERS = ['signature', 'session', 'header', 'none', 'directory', 'pasted'] as const
export type CallerKind = (typeof CALLERS)[number]

const DEFAULTS: Fields = defaultFields()

function defaultFields(): Fields {
  const fields = new Map([['method', 'GET']])
  const values = [...Object.entries(RULE_FIELDS), ...Object.entries(POLICY_FIELDS)]
    .filter(([name]) => name !== 'directories')
    .map(([name, { defaultValue }]) => [name, defaultValue])
  POLICY.format(Object.fromEntries(values), '', (name, text) => {
    if (text !== NONE) fields.set(name, text)
  })
  return fields
}

/**
 * Fields of the policy that are empty or missing have their default.
 * @param field the value of a field by its name; empty if it was not sent
 */
export function readConsoleForm(field: (name: string) => string): ConsoleForm {
  const fields = new Map<string, string>([['headers', field('headers')]])
  const take = (name: string) => {
    const text = field(name).trim()
    fields.set(name, text === '' ? (DEFAULTS.get(name) ?? '') : text)
  }
  for (const name of [...OTHER_FIELDS, ...POLICY.names('')]) take(name)
  const counts = LIST_NAMES.map((list) => {
    const { codec, most } = LISTS[list]
    const count = Math.min(most, Math.max(0, Math.trunc(Number(field(list)) || 0)))
    for (let i = 0; i < count; i++) for (const name of codec.names(`${list}.${i}`)) take(name)
    return [list, count] as const
  })
  return { fields, ...(Object.fromEntries(counts) as Record<ListName, number>) }
}

/** The form before anybody has filled it in. */
export const EMPTY_FORM: ConsoleForm = readConsoleForm((name) =>
  name === 'origin' ? 'https://shop.example' : '',
)

export function fieldOf({ fields }: Pick<ConsoleForm, 'fields'>, name: string): string {
  return fields.get(name) ?? ''
}

/** The policy that the form describes, which the gateway's reader has yet to validate. */
export function policyOfForm(form: ConsoleForm): PolicyInput {
  const text = (name: string) => fieldOf(form, name)
  const listed = LIST_NAMES.filter((list) => form[list] > 0).map((list) => {
    const items = Array.from({ length: form[list] }, (_, i) => {
      return LISTS[list].codec.parse(text, `${list}.${i}`) ?? {}
    })
    return [list, items]
  })
  return { ...(POLICY.parse(text, '') as PolicyInput), ...Object.fromEntries(listed) }
}

export interface LoadedForm {
  readonly form: ConsoleForm
  /** The places of the policy that the form cannot show. */
  readonly lost: readonly string[]
}

/**
 * The form that describes a policy, which may be invalid.
 * @param form its other fields are kept
 */
export function formOfPolicy(form: ConsoleForm, policy: unknown): LoadedForm {
  const others = [...form.fields].filter(([name]) => !isOfPolicy(name))
  const fields = new Map([...DEFAULTS, ...others])
  const write = (name: string, text: string) =>
    fields.set(name, isOfList(name) || text !== NONE ? text : '')
  if (!isRecord(policy)) return { form: { ...form, fields, routes: 0, directories: 0 }, lost: [''] }
  const { routes, directories, ...rest } = policy
  const lost = POLICY.format(rest, '', write)
  const counts = LIST_NAMES.map((list) => {
    const given = list === 'routes' ? routes : directories
    return [list, writeList(list, given, write, lost)] as const
  })
  return { form: { fields, ...(Object.fromEntries(counts) as Record<ListName, number>) }, lost }
}

/** @returns the number of items */
function writeList(
  list: ListName,
  given: unknown,
  write: Parameters<Codec['format']>[2],
  lost: string[],
): number {
  const { codec, most } = LISTS[list]
  if (given === undefined) return 0
  if (!Array.isArray(given) || given.length > most) {
    lost.push(list)
    return 0
  }
  for (const [i, item] of given.entries()) {
    lost.push(...codec.format(item, `${list}.${i}`, write))
  }
  return given.length
}

function isOfList(name: string): boolean {
  return LIST_NAMES.some((list) => name.startsWith(`${list}.`))
}

const POLICY_NAMES: ReadonlySet<string> = new Set(POLICY.names(''))

function isOfPolicy(name: string): boolean {
  return POLICY_NAMES.has(name) || isOfList(name)
}
