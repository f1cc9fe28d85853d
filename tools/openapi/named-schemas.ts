import {
  type ApiDocument,
  isRecord,
  mapMembers,
  type Operation,
  type Schema,
} from './openapi-types.ts'
import { SCHEMA_NAMES } from './schema-names.ts'

interface Found {
  readonly schema: Schema
  /** Names by preference: short ones first. */
  readonly names: string[]
  uses: number
  /** Whether it is the whole body of a request or a response. */
  isBody: boolean
}

/** A document whose bodies, and objects that it has several times, are components with a name. */
export interface NamedSchemas {
  readonly document: ApiDocument
  readonly schemas: Readonly<Record<string, unknown>>
}

/** Moves schemas to components. Generated clients get a type with a name instead of a copy for each operation. */
export function nameSchemas(document: ApiDocument): NamedSchemas {
  const found = new Map<string, Found>()
  const { paths, webhooks = {}, responses: shared = {} } = document
  for (const { content } of Object.values(shared)) collectBodies(found, 'Error', content)
  const methods = [...Object.values(paths), ...Object.values(webhooks)]
  for (const operation of methods.flatMap((each) => Object.values(each))) {
    const { operationId, requestBody, responses } = operation
    collectBodies(found, `${pascal(operationId)}Request`, requestBody?.content)
    for (const { content } of Object.values(responses))
      collectBodies(found, pascal(operationId), content)
  }
  const names = assignNames(found)
  const reference = (value: unknown, isRoot: boolean): unknown => {
    const name = isSchemaObject(value) && !isRoot ? names.get(keyOf(value)) : undefined
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
    return mapMembers(value, (member) => reference(member, false))
  }
  const schemas = [...names].map(([key, name]) => [name, reference(JSON.parse(key), true)])
  schemas.sort(([a], [b]) => String(a).localeCompare(String(b)))
  return {
    document: {
      ...document,
      paths: reference(paths, false) as ApiDocument['paths'],
      webhooks: reference(webhooks, false) as ApiDocument['paths'],
      responses: reference(shared, false) as Operation['responses'],
    },
    schemas: Object.fromEntries(schemas),
  }
}

function collectBodies(
  found: Map<string, Found>,
  name: string,
  content: Readonly<Record<string, { readonly schema?: Schema }>> = {},
): void {
  for (const [type, { schema }] of Object.entries(content)) {
    if (schema === undefined) continue
    const suffix = type === 'application/did+json' ? 'DidDocument' : ''
    collect(found, schema, [`${name}${suffix}`], true)
  }
}

function collect(
  found: Map<string, Found>,
  schema: Schema,
  names: readonly string[],
  isBody: boolean,
): void {
  const [owner = ''] = names
  if (isSchemaObject(schema)) {
    const key = keyOf(schema)
    const known = found.get(key) ?? { schema, names: [], uses: 0, isBody: false }
    found.set(key, known)
    known.names.push(...(schema.title === undefined ? names : [schema.title]))
    known.uses += 1
    known.isBody ||= isBody
    // Its members are copies of those that are known.
    if (known.uses > 1) return
  }
  for (const [property, member] of Object.entries(schema.properties ?? {})) {
    collect(found, member, [pascal(property), owner + pascal(property)], false)
  }
  const { items, anyOf = [], additionalProperties: others } = schema
  const members = [items, typeof others === 'object' ? others : undefined, ...anyOf]
  for (const member of members) {
    if (member !== undefined) collect(found, member, names.map(singular), false)
  }
}

/** @returns the name by the text of the schema */
function assignNames(found: ReadonlyMap<string, Found>): Map<string, string> {
  const assigned = new Map<string, string>()
  const taken = new Set<string>()
  const named = [...found].filter(([, { uses, isBody }]) => isBody || uses > 1)
  // Bodies first: their names come from operation ids.
  named.sort(([, a], [, b]) => Number(b.isBody) - Number(a.isBody))
  for (const [key, { names }] of named) {
    const own = names.find((each) => !taken.has(each)) ?? `${names[0]}${taken.size}`
    taken.add(own)
    assigned.set(key, SCHEMA_NAMES[own] ?? own)
  }
  if (new Set(assigned.values()).size < assigned.size) throw new Error('two schemas have one name')
  return assigned
}

/** An object, or one of several. */
function isSchemaObject(value: unknown): value is Schema {
  if (!isRecord(value)) return false
  if (Array.isArray(value.anyOf)) return value.anyOf.every(isSchemaObject)
  return isRecord(value.properties) && 'type' in value
}

function keyOf(schema: Schema): string {
  return JSON.stringify(schema)
}

function pascal(text: string): string {
  return text.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) =>
    first.toUpperCase(),
  )
}

function singular(name: string): string {
  return name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
}
