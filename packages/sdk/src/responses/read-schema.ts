import { BASE58_CLASS, type Naming, namingFor } from '@countersign/protocol'
import type { Static, TSchema } from 'typebox'

/** The part of JSON Schema that the wire schemas use. A test holds the schemas against it. */
interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly format?: string
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  /** By default every property: the build publishes it only where a property is optional. */
  readonly required?: readonly string[]
}

/**
 * Reads a parsed JSON body.
 * @throws UnexpectedShape
 */
export type Read<T> = (body: unknown) => T

/**
 * The value of a wire schema as this package returns it: read-only, and `did` instead of the field that each deployment
 * names after itself (`svcDid`).
 */
export type Shape<T> = T extends readonly (infer Item)[]
  ? readonly Shape<Item>[]
  : T extends object
    ? { readonly [K in keyof T as K extends 'svcDid' ? 'did' : K]: Shape<T[K]> }
    : T

/** A body does not match the contract. The message completes "The service …". */
export class UnexpectedShape extends Error {
  override readonly name = 'UnexpectedShape'

  /** @param path of the first value that does not match, such as `body.certificate.status` */
  static at(path: string): UnexpectedShape {
    return new UnexpectedShape(`answers in another shape than the contract's (see ${path})`)
  }
}

/** How the schemas that this package holds spell what a deployment names after itself: with the default short name. */
const { didField: DID_FIELD, didPattern: DID_PATTERN } = namingFor()
const ANY_DID_PATTERN = new RegExp(`^[a-z][a-z0-9]{0,15}:agent:${BASE58_CLASS}{24}$`)
const TIMESTAMP_PATTERN = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/**
 * A reader for one schema. It returns a new value with the known fields only: a newer service may send more.
 * A validation library would make the package three times as large (docs/decisions).
 * @param naming of the deployment; null accepts DIDs of any short name
 */
export function readerOf<T>(schema: object, naming: Naming | null): Read<T> {
  return (body) => readValue(schema as JsonSchema, body, 'body', naming) as T
}

/** As `readerOf`, for a wire schema (schemas.ts). */
export function wireReader<S extends TSchema>(
  schema: S,
  naming: Naming | null,
): Read<Shape<Static<S>>> {
  return readerOf(schema, naming)
}

/** Reads the answer of `GET /log/proof/{did}`: text, which `verifyKeyProof` verifies. */
export const readLogProof: Read<{ readonly proof: string }> = (body) => {
  if (typeof body === 'string') return { proof: body }
  throw new UnexpectedShape('answers without a proof')
}

/** Reads a token in compact form. */
export const readToken: Read<{ readonly token: string }> = (body) => {
  if (typeof body === 'string' && body.split('.').length === 3) return { token: body }
  throw new UnexpectedShape('answers without a token')
}

function readValue(
  schema: JsonSchema,
  value: unknown,
  path: string,
  naming: Naming | null,
): unknown {
  if (!hasType(schema, value) || !isAllowed(schema, value)) throw UnexpectedShape.at(path)
  if (typeof value === 'string' && !isText(schema, value, naming)) throw UnexpectedShape.at(path)
  if (typeof value === 'number' && !isInRange(schema, value)) throw UnexpectedShape.at(path)
  if (Array.isArray(value)) {
    return value.map((item, i) => readValue(schema.items ?? {}, item, `${path}[${i}]`, naming))
  }
  if (typeof value !== 'object' || value === null) return value
  return readObject(schema, value, path, naming)
}

function readObject(
  { properties = {}, required = Object.keys(properties) }: JsonSchema,
  value: object,
  path: string,
  naming: Naming | null,
): object {
  const fields: [string, unknown][] = []
  for (const [name, schema] of Object.entries(properties)) {
    const isDid = name === DID_FIELD
    const sentName = isDid ? didFieldOf(value, naming) : name
    if (!Object.hasOwn(value, sentName)) {
      if (!required.includes(name)) continue
      throw UnexpectedShape.at(`${path}.${sentName}`)
    }
    const sent = (value as Record<string, unknown>)[sentName]
    fields.push([isDid ? 'did' : name, readValue(schema, sent, `${path}.${sentName}`, naming)])
  }
  return Object.fromEntries(fields)
}

/** The field with the DID: `<short name>Did`, with a DID of that short name in it. */
function didFieldOf(value: object, naming: Naming | null): string {
  if (naming !== null) return naming.didField
  const [[name, did] = [], ...others] = Object.entries(value).filter(([key]) => /Did$/.test(key))
  const shortName = name?.slice(0, -'Did'.length)
  if (shortName && others.length === 0 && String(did).startsWith(`${shortName}:`)) return `${name}`
  throw new UnexpectedShape('answers without the DID of an agent')
}

function hasType({ type }: JsonSchema, value: unknown): boolean {
  return type === undefined || [type].flat().some((name) => isOfType(name, value))
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function isAllowed(schema: JsonSchema, value: unknown): boolean {
  if ('const' in schema && schema.const !== value) return false
  return schema.enum === undefined || schema.enum.includes(value)
}

function isText(schema: JsonSchema, text: string, naming: Naming | null): boolean {
  const { pattern, format, maxLength } = schema
  if (pattern !== undefined && !patternOf(pattern, naming).test(text)) return false
  // JSON Schema counts code points, not UTF-16 units.
  if (maxLength !== undefined && [...text].length > maxLength) return false
  if (format === 'uri') return URL.canParse(text)
  if (format !== 'date-time') return true
  return isTimestamp(text)
}

/** Only of days that exist: `Date` takes 30 February for 2 March, 24:00 for the next day, and the year 0. */
function isTimestamp(text: string): boolean {
  if (!TIMESTAMP_PATTERN.test(text) || text.startsWith('0000')) return false
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 19))
}

function patternOf(source: string, naming: Naming | null): RegExp {
  if (source !== DID_PATTERN.source) return new RegExp(source, 'u')
  return naming === null ? ANY_DID_PATTERN : naming.didPattern
}

function isInRange({ minimum = -Infinity, maximum = Infinity }: JsonSchema, value: number) {
  return value >= minimum && value <= maximum
}
