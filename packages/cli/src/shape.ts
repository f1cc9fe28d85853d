/** What the wire schemas of the protocol use of JSON Schema. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly format?: string
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/**
 * Holds a value that came over the wire against a schema of the protocol. Unknown fields are let through: a newer
 * service may have more to say.
 * @returns the path of the first part that departs from it (`certificate.status`), or null
 */
export function departure(schema: Schema, value: unknown, path = 'body'): string | null {
  if (!hasType(schema, value) || !isOneOf(schema, value)) return path
  if (typeof value === 'string') return isText(schema, value) ? null : path
  if (typeof value === 'number') return isInRange(schema, value) ? null : path
  if (Array.isArray(value)) {
    return first(value.entries(), ([i, each]) =>
      departure(schema.items ?? {}, each, `${path}[${i}]`),
    )
  }
  if (typeof value === 'object' && value !== null) return memberDeparture(schema, value, path)
  return null
}

function memberDeparture(schema: Schema, value: object, path: string): string | null {
  const members = new Map(Object.entries(value))
  const missing = schema.required?.find((name) => !members.has(name))
  if (missing !== undefined) return `${path}.${missing}`
  return first(Object.entries(schema.properties ?? {}), ([name, member]) =>
    members.has(name) ? departure(member, members.get(name), `${path}.${name}`) : null,
  )
}

function hasType({ type }: Schema, value: unknown): boolean {
  return type === undefined || [type].flat().some((each) => isOfType(each, value))
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function isOneOf(schema: Schema, value: unknown): boolean {
  if ('const' in schema && schema.const !== value) return false
  return schema.enum === undefined || schema.enum.includes(value)
}

function isText({ pattern, format, maxLength }: Schema, text: string): boolean {
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return false
  if (maxLength !== undefined && [...text].length > maxLength) return false
  if (format === 'date-time') return !Number.isNaN(Date.parse(text))
  return format !== 'uri' || URL.canParse(text)
}

function isInRange({ minimum = -Infinity, maximum = Infinity }: Schema, value: number): boolean {
  return value >= minimum && value <= maximum
}

function first<T>(values: Iterable<T>, find: (value: T) => string | null): string | null {
  for (const each of values) {
    const found = find(each)
    if (found !== null) return found
  }
  return null
}
