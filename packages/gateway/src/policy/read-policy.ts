import type { Naming } from '@countersign/protocol'
import { type Field, POLICY_FIELDS, ROUTE_FIELDS, RULE_FIELDS } from './fields.ts'
import type { Policy, Route, Rules } from './policy.ts'
import { PolicyError } from './policy-error.ts'
import { type ReadContext, record } from './readers.ts'

type Fields<T> = { readonly [K in keyof T]: Field<T[K]> }

/**
 * Validates a policy and fills in the defaults.
 * @param naming the names of the service's deployment, which decide how DIDs are written
 * @throws PolicyError listing every mistake
 */
export function readPolicy(input: unknown, naming: Naming): Policy {
  const mistakes: string[] = []
  const policy = readPolicyAt(input, 'policy', { naming, mistakes })
  if (mistakes.length > 0) throw new PolicyError(mistakes)
  return policy
}

/** As `readPolicy`, but adds mistakes to the context's list. The result is valid only if there are none. */
export function readPolicyAt(input: unknown, place: string, context: ReadContext): Policy {
  const known = [...Object.keys(RULE_FIELDS), ...Object.keys(POLICY_FIELDS), 'routes']
  const given = record(input ?? {}, place, known, context)
  const others = readFields(POLICY_FIELDS, given, place, context, defaultsOf(POLICY_FIELDS))
  const didPrefixes = (others.trust ?? []).flatMap(({ didPrefix }) => didPrefix ?? [])
  const withPrefixes = { ...context, didPrefixes }
  const rules = readRules(given, place, withPrefixes, defaultsOf(RULE_FIELDS))
  const routes = readRoutes(given.routes, place, withPrefixes, rules)
  return deepFreeze({ ...rules, ...others, routes })
}

/** Where a policy requires proof of possession, such as `policy.routes[2]`. */
export function placesRequiringProof(policy: Policy): string[] {
  return placesOf(policy, ({ requireProof }) => requireProof)
}

/** Where a policy requires approvals. */
export function placesRequiringApproval(policy: Policy): string[] {
  return placesOf(policy, ({ approval }) => approval != null)
}

/**
 * The mistakes of a policy with approvals at a gateway that lacks something for them.
 * @param hasAudiences whether signatures are accepted
 * @param seesBodies whether the gateway can compare the body of a request
 */
export function approvalMistakes(
  policy: Policy,
  { hasAudiences, seesBodies }: { readonly hasAudiences: boolean; readonly seesBodies: boolean },
): string[] {
  const places = placesRequiringApproval(policy)
  const unseen = placesOf(policy, ({ approval }) => approval?.bodyCheckedByApplication === false)
  return [
    ...(hasAudiences
      ? []
      : places.map(
          (place) =>
            `${place}.approval requires \`audiences\`: without them, no signature is accepted`,
        )),
    ...(seesBodies
      ? []
      : unseen.map(
          (place) =>
            `${place}.approval.bodyCheckedByApplication must be \`true\` here: this gateway sees no body, so your application has to compare it with the Content-Digest that the agent signed`,
        )),
  ]
}

/** Where a policy requires that keys are logged. */
export function placesRequiringLog(policy: Policy): string[] {
  return placesOf(policy, ({ requireLogged }) => requireLogged !== null)
}

function placesOf(policy: Policy, isRequired: (rules: Rules) => boolean): string[] {
  const places = policy.routes.map((route, i) => (isRequired(route) ? [`policy.routes[${i}]`] : []))
  return [...(isRequired(policy) ? ['policy'] : []), ...places.flat()]
}

/** The mistakes of a policy with directories or trusted issuers at a gateway without audiences. */
export function audienceMistakes(policy: Partial<Policy>): string[] {
  return (['directories', 'trust'] as const).flatMap((name) =>
    (policy[name] ?? []).length > 0
      ? [`policy.${name} requires \`audiences\`: without them, no signature is accepted`]
      : [],
  )
}

function readRoutes(
  input: unknown,
  place: string,
  context: ReadContext,
  rules: Rules,
): readonly Route[] {
  if (input === undefined) return []
  if (!Array.isArray(input)) {
    context.mistakes.push(`${place}.routes must be a list of routes`)
    return []
  }
  return input.map((each, i) => {
    const routePlace = `${place}.routes[${i}]`
    const known = [...Object.keys(RULE_FIELDS), ...Object.keys(ROUTE_FIELDS)]
    const given = record(each, routePlace, known, context)
    const own = readFields(ROUTE_FIELDS, given, routePlace, context, defaultsOf(ROUTE_FIELDS))
    if (!('path' in given)) {
      context.mistakes.push(`${routePlace}.path must be ${ROUTE_FIELDS.path.read.accepts}`)
    }
    return { ...readRules(given, routePlace, context, rules), ...own } as Route
  })
}

/** @param defaults the values of omitted fields and omitted levels */
function readRules(
  given: Readonly<Record<string, unknown>>,
  place: string,
  context: ReadContext,
  defaults: Rules,
): Rules {
  const rules = readFields<Rules>(RULE_FIELDS, given, place, context, defaults)
  return { ...rules, levels: { ...defaults.levels, ...rules.levels } }
}

function readFields<T>(
  fields: Fields<T>,
  given: Readonly<Record<string, unknown>>,
  place: string,
  context: ReadContext,
  defaults: T,
): T {
  const names = Object.keys(fields) as (keyof T & string)[]
  const entries = names.map((name) => {
    if (given[name] === undefined) return [name, defaults[name]]
    return [name, fields[name].read(given[name], `${place}.${name}`, context)]
  })
  return Object.fromEntries(entries) as T
}

function defaultsOf<T>(fields: Fields<T>): T {
  const entries = Object.entries<Field<unknown>>(fields)
  return Object.fromEntries(entries.map(([name, { defaultValue }]) => [name, defaultValue])) as T
}

/** Prevents later changes to a policy that was already validated. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) deepFreeze(each)
    Object.freeze(value)
  }
  return value
}
