import {
  POLICY_FIELDS,
  type Policy,
  type PolicyInput,
  type Route,
  RULE_FIELDS,
} from '@countersign/gateway/internal'
import { isRecord } from './policy-codecs.ts'

const RULE_NAMES = Object.keys(RULE_FIELDS) as (keyof typeof RULE_FIELDS)[]
const POLICY_NAMES = Object.keys(POLICY_FIELDS) as (keyof typeof POLICY_FIELDS)[]

/** A policy as one writes it: without the fields that have their default, and in routes without those of the policy itself. */
export function withoutDefaults(policy: Policy): PolicyInput {
  const others = POLICY_NAMES.map((name) => [
    name,
    changed(name, policy[name], POLICY_FIELDS[name].defaultValue),
  ])
  const rules = RULE_NAMES.map((name) => [
    name,
    changed(name, policy[name], RULE_FIELDS[name].defaultValue),
  ])
  const routes = policy.routes.map((route) => routeWithoutDefaults(route, policy))
  return given({
    ...Object.fromEntries([...others, ...rules]),
    routes: routes.length === 0 ? undefined : routes,
  }) as PolicyInput
}

function routeWithoutDefaults(route: Route, policy: Policy): object {
  return given({
    path: route.path,
    methods: route.methods ?? undefined,
    ...Object.fromEntries(
      RULE_NAMES.map((name) => [name, changed(name, route[name], policy[name])]),
    ),
  })
}

/** Undefined if the value is the default; of an object whose omitted members have their default, the members that differ. */
function changed(name: string, value: unknown, usual: unknown): unknown {
  if (JSON.stringify(value) === JSON.stringify(usual)) return undefined
  const isMerged = name === 'levels' || name === 'limit'
  if (!isMerged || !isRecord(value) || !isRecord(usual)) return value
  return Object.fromEntries(Object.entries(value).filter(([key, each]) => each !== usual[key]))
}

function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
