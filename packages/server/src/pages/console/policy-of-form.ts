import {
  LEVELS,
  POLICY_FIELDS,
  type Policy,
  type PolicyInput,
  type Route,
  RULE_FIELDS,
} from '@countersign/gateway/internal'
import type { ConsoleForm, LevelFields, RouteFields } from './console-form.ts'

/**
 * The policy that the form describes, which the gateway's reader has yet to validate: texts that are no number or no choice are
 * passed on as they are.
 */
export function policyOfForm(form: ConsoleForm): PolicyInput {
  const { requests, seconds, directory, directoryProfile, route } = form
  const policy = given({
    mode: textIn(form.mode),
    levels: levelsIn(form.levels),
    requireProof: booleanIn(form.requireProof),
    minimumGrade: textIn(form.minimumGrade),
    limit: objectIn({ requests: numberIn(requests), seconds: numberIn(seconds) }),
    unreachable: textIn(form.unreachable),
    maxStaleSeconds: numberIn(form.maxStaleSeconds),
    directories:
      directory === '' ? undefined : [given({ url: directory, profile: textIn(directoryProfile) })],
    routes: route.path === '' ? undefined : [routeIn(route)],
  })
  return policy as PolicyInput
}

function routeIn({ path, methods, requireProof, levels, status }: RouteFields): object {
  return given({
    path,
    methods:
      methods === ''
        ? undefined
        : methods
            .toUpperCase()
            .split(/[\s,]+/)
            .filter(Boolean),
    requireProof: booleanIn(requireProof),
    levels: levelsIn(levels),
    refusal: objectIn({ status: numberIn(status) }),
  })
}

function levelsIn(levels: LevelFields): object | undefined {
  return objectIn(Object.fromEntries(LEVELS.map((each) => [each, textIn(levels[each])])))
}

function textIn(text: string): string | undefined {
  return text === '' ? undefined : text
}

function numberIn(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

function booleanIn(text: string): boolean | string | undefined {
  if (text === 'true') return true
  return text === 'false' ? false : textIn(text)
}

function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Undefined if no field is given. */
function objectIn(fields: Readonly<Record<string, unknown>>): object | undefined {
  const object = given(fields)
  return Object.keys(object).length === 0 ? undefined : object
}

const RULE_NAMES = Object.keys(RULE_FIELDS) as (keyof typeof RULE_FIELDS)[]
const POLICY_NAMES = Object.keys(POLICY_FIELDS) as (keyof typeof POLICY_FIELDS)[]

/** A policy as one writes it: without the fields that have their default, and in routes without those of the policy itself. */
export function withoutDefaults(policy: Policy): PolicyInput {
  const defaults = defaultRules()
  const others = POLICY_NAMES.map((name) => [
    name,
    changed(policy[name], POLICY_FIELDS[name].defaultValue),
  ])
  const rules = RULE_NAMES.map((name) => [name, changed(policy[name], defaults[name])])
  const routes = policy.routes.map((route) => routeWithoutDefaults(route, policy))
  return given({
    ...Object.fromEntries([...others, ...rules]),
    routes: routes.length === 0 ? undefined : routes,
  }) as PolicyInput
}

function defaultRules(): Readonly<Record<string, unknown>> {
  return Object.fromEntries(RULE_NAMES.map((name) => [name, RULE_FIELDS[name].defaultValue]))
}

function routeWithoutDefaults(route: Route, policy: Policy): object {
  return given({
    path: route.path,
    methods: route.methods ?? undefined,
    ...Object.fromEntries(RULE_NAMES.map((name) => [name, changed(route[name], policy[name])])),
  })
}

/** Undefined if the value is the default; of an object, the members that differ. */
function changed(value: unknown, usual: unknown): unknown {
  if (JSON.stringify(value) === JSON.stringify(usual)) return undefined
  if (!isObject(value) || !isObject(usual)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([name, each]) => changed(each, usual[name]) !== undefined),
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
