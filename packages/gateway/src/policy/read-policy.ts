import type { Naming } from '@countersign/protocol'
import { type Field, POLICY_FIELDS, ROUTE_FIELDS, RULE_FIELDS } from './fields.ts'
import type { Policy, Route, Rules } from './policy.ts'
import { PolicyError } from './policy-error.ts'
import { type Reading, record } from './readers.ts'

type Fields<T> = { readonly [K in keyof T]: Field<T[K]> }

/**
 * Reads a policy: what a program hands in, or what came out of JSON.
 * @param naming of the service: DIDs in lists are its own
 * @throws PolicyError with every mistake at once
 */
export function readPolicy(input: unknown, naming: Naming): Policy {
  const mistakes: string[] = []
  const policy = readPolicyAt(input, 'policy', { naming, mistakes })
  if (mistakes.length > 0) throw new PolicyError(mistakes)
  return policy
}

/** The same where mistakes are collected: what it returns is a policy only if there are none. */
export function readPolicyAt(input: unknown, place: string, reading: Reading): Policy {
  const known = [...Object.keys(RULE_FIELDS), ...Object.keys(POLICY_FIELDS), 'routes']
  const given = record(input ?? {}, place, known, reading)
  const rules = readRules(given, place, reading, defaultsOf(RULE_FIELDS))
  const whole = readFields(POLICY_FIELDS, given, place, reading, defaultsOf(POLICY_FIELDS))
  return deepFreeze({ ...rules, ...whole, routes: readRoutes(given.routes, place, reading, rules) })
}

function readRoutes(
  input: unknown,
  place: string,
  reading: Reading,
  rules: Rules,
): readonly Route[] {
  if (input === undefined) return []
  if (!Array.isArray(input)) {
    reading.mistakes.push(`${place}.routes takes a list of routes`)
    return []
  }
  return input.map((each, i) => {
    const at = `${place}.routes[${i}]`
    const known = [...Object.keys(RULE_FIELDS), ...Object.keys(ROUTE_FIELDS)]
    const given = record(each, at, known, reading)
    const own = readFields(ROUTE_FIELDS, given, at, reading, defaultsOf(ROUTE_FIELDS))
    if (!('path' in given))
      reading.mistakes.push(`${at}.path takes ${ROUTE_FIELDS.path.read.takes}`)
    return { ...readRules(given, at, reading, rules), ...own } as Route
  })
}

/** @param around what holds where a field is left out; levels that are left out stay as they are there */
function readRules(
  given: Readonly<Record<string, unknown>>,
  place: string,
  reading: Reading,
  around: Rules,
): Rules {
  const rules = readFields<Rules>(RULE_FIELDS, given, place, reading, around)
  return { ...rules, levels: { ...around.levels, ...rules.levels } }
}

function readFields<T>(
  fields: Fields<T>,
  given: Readonly<Record<string, unknown>>,
  place: string,
  reading: Reading,
  around: T,
): T {
  const names = Object.keys(fields) as (keyof T & string)[]
  const entries = names.map((name) => {
    if (given[name] === undefined) return [name, around[name]]
    return [name, fields[name].read(given[name], `${place}.${name}`, reading)]
  })
  return Object.fromEntries(entries) as T
}

function defaultsOf<T>(fields: Fields<T>): T {
  const entries = Object.entries<Field<unknown>>(fields)
  return Object.fromEntries(entries.map(([name, { otherwise }]) => [name, otherwise])) as T
}

/** Whoever handed a policy in cannot change it afterwards: what was read is a copy, and stays as it is. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) deepFreeze(each)
    Object.freeze(value)
  }
  return value
}
