import type { Schema } from '../openapi/openapi-types.ts'

/** A row of the table that documents a schema. */
export interface SchemaRow {
  /** Path such as `owner.identityMethod` or `channels[].kind`; empty if the body is a single value. */
  readonly name: string
  readonly type: string
  readonly optional: boolean
  readonly description: string
}

/** One row for each member of a schema, nested ones included. */
export function rowsOf(given: Schema): SchemaRow[] {
  const schema = withAlternatives(given)
  if (schema.properties !== undefined || schema.items !== undefined) return membersOf(schema, '')
  return typeInWords(schema) === 'any' ? [] : [rowOf('', schema, false)]
}

/** The row of a parameter or a single value. */
export function rowOf(name: string, schema: Schema, optional: boolean): SchemaRow {
  return { name, type: typeInWords(schema), optional, description: describe(schema) }
}

function membersOf(given: Schema, path: string): SchemaRow[] {
  const schema = withAlternatives(given)
  if (schema.items !== undefined) return membersOf(schema.items, `${path}[]`)
  const { properties = {}, required = [], additionalProperties: others } = schema
  const members = Object.entries(properties)
  // Members with names that the client chooses.
  if (typeof others === 'object') members.push(['*', others])
  return members.flatMap(([name, member]) => {
    const here = path === '' ? name : `${path}.${name}`
    return [rowOf(here, member, !required.includes(name)), ...membersOf(member, here)]
  })
}

/** A union of objects as one object, in which members are optional that not all of them have. */
function withAlternatives(schema: Schema): Schema {
  const { anyOf } = schema
  if (anyOf === undefined) return schema
  const names = [...new Set(anyOf.flatMap(({ properties = {} }) => Object.keys(properties)))]
  const members = names.map((name): [string, Schema] => [
    name,
    eitherSchema(anyOf.flatMap(({ properties }) => properties?.[name] ?? [])),
  ])
  const required = names.filter((name) => anyOf.every((each) => each.required?.includes(name)))
  return { type: 'object', properties: Object.fromEntries(members), required }
}

/** The first, with the values of all if they are constants. */
function eitherSchema(schemas: readonly Schema[]): Schema {
  const values = new Set(schemas.flatMap((each) => ('const' in each ? [each.const] : [])))
  const { const: value, ...first } = schemas[0] as Schema
  if (values.size === 0) return first
  return values.size === 1 ? { ...first, const: value } : { ...first, enum: [...values] }
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'integer',
  number: 'number',
  object: 'object',
  null: 'null',
}

/** @returns words for people: `string or null`, `array of objects`, `active, suspended or revoked` */
function typeInWords(given: Schema): string {
  const schema = withAlternatives(given)
  const types = [schema.type ?? []].flat()
  const values = schema.enum ?? ('const' in schema ? [schema.const] : null)
  if (values !== null) {
    const all = types.includes('null') && !values.includes(null) ? [...values, null] : values
    return eitherOf(all.map(String))
  }
  if (types.length === 0) return 'any'
  return eitherOf(types.map((type) => inWords(type, schema)))
}

function inWords(type: string, { items, format }: Schema): string {
  if (type === 'string' && format === 'date-time') return 'timestamp'
  if (type === 'string' && (format === 'uri' || format === 'date'))
    return format === 'uri' ? 'URL' : 'date'
  if (type !== 'array') return WORDS[type] ?? type
  const of = items === undefined ? 'any' : typeInWords(items)
  return `array of ${of === 'object' || of === 'string' ? `${of}s` : of}`
}

function describe(schema: Schema): string {
  const { description, minLength, maxLength, minimum, maximum } = schema
  const limits = [
    range(minLength, maxLength, 'characters'),
    // MAX_SAFE_INTEGER is JSON's limit, not one of the API: leave it out.
    range(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, ''),
  ]
  return [description, ...(description === undefined ? limits : [])].filter(Boolean).join('; ')
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return ''
  const span =
    most === undefined
      ? `at least ${least}`
      : least === undefined
        ? `at most ${most}`
        : `${least} to ${most}`
  return `${span} ${unit}`.trim()
}

function eitherOf(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`
}
