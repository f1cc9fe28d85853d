import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'

/* Compiles the classes of OCSF 1.8.0 (`test/fixtures/ocsf-1.8.0/`) into JSON Schemas, without profiles, which we do not use. */

interface Attribute {
  readonly type?: string
  readonly is_array?: boolean
  readonly requirement?: string
  readonly sibling?: string
  readonly enum?: Readonly<Record<string, { readonly caption: string }>>
}

interface Definition {
  readonly name: string
  readonly uid?: number
  readonly category?: string
  readonly extends?: string
  readonly attributes: Readonly<Record<string, Attribute>>
  readonly constraints?: Readonly<Partial<Record<'at_least_one' | 'just_one', readonly string[]>>>
}

function read<T = Definition>(path: string): T {
  const url = new URL(`../fixtures/ocsf-1.8.0/${path}.json`, import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8'))
}

interface Dictionary {
  readonly attributes: Readonly<Record<string, Attribute & { readonly type: string }>>
  readonly types: { readonly attributes: Readonly<Record<string, { readonly type?: string }>> }
}

const dictionary = read<Dictionary>('dictionary')
const categories = read<{ attributes: Readonly<Record<string, { uid: number }>> }>('categories')

const EVENTS = [
  'events/base_event',
  'events/iam/iam',
  'events/iam/entity_management',
  'events/iam/authentication',
  'events/findings/finding',
  'events/findings/detection_finding',
]
const OBJECTS = [
  'objects/object',
  'objects/_entity',
  'objects/_resource',
  'objects/managed_entity',
  'objects/metadata',
  'objects/product',
  'objects/service',
  'objects/user',
  'objects/organization',
  'objects/finding_info',
  'objects/resource_details',
]
const byName = (paths: readonly string[]) =>
  new Map(paths.map((path) => read(path)).map((each) => [each.name, each]))
const events = byName(EVENTS)
const objects = byName(OBJECTS)

/** A definition with what it extends. */
function inherited(name: string, all: ReadonlyMap<string, Definition>): Definition {
  const own = all.get(name)
  assert.ok(own, `${name} is not among the copies`)
  const { $include: _profiles, ...attributes } = own.attributes as Record<string, Attribute>
  if (own.extends === undefined) return { ...own, attributes }
  const base = inherited(own.extends, all)
  const merged = Object.entries(attributes).map(([key, attribute]) => {
    const before = base.attributes[key] ?? {}
    return [key, { ...before, ...attribute, enum: { ...before.enum, ...attribute.enum } }] as const
  })
  return { ...base, ...own, attributes: { ...base.attributes, ...Object.fromEntries(merged) } }
}

type Schema = object | boolean

function schemaOf({ attributes, constraints = {} }: Definition, fixed: object = {}): Schema {
  const known = Object.keys(attributes).filter((name) => name in dictionary.attributes)
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(known.map((name) => [name, attributeSchema(name, attributes[name])])),
      ...fixed,
    },
    required: known.filter((name) => attributes[name]?.requirement === 'required'),
    allOf: [
      true,
      ...known.flatMap(siblingRule),
      ...(constraints.at_least_one
        ? [{ anyOf: constraints.at_least_one.map((each) => ({ required: [each] })) }]
        : []),
      ...(constraints.just_one
        ? [{ oneOf: constraints.just_one.map((each) => ({ required: [each] })) }]
        : []),
    ],
  }
}

/** Where an enumeration says Other (99), its sibling has the name. */
function siblingRule(name: string): Schema[] {
  const { sibling } = dictionary.attributes[name] as Attribute
  if (sibling === undefined) return []
  return [
    {
      if: { properties: { [name]: { const: 99 } }, required: [name] },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema
      then: { required: [sibling] },
    },
  ]
}

function attributeSchema(name: string, attribute: Attribute = {}): Schema {
  const described = dictionary.attributes[name] as Attribute & { type: string }
  const type = attribute.type ?? described.type
  const values = Object.keys({ ...described.enum, ...attribute.enum })
  const each =
    values.length > 0
      ? { enum: values.map((value) => (scalarOf(type) === 'integer' ? Number(value) : value)) }
      : typeSchema(type)
  return described.is_array === true ? { type: 'array', items: each } : each
}

function typeSchema(type: string): Schema {
  const scalar = scalarOf(type)
  if (scalar !== null) return scalar === 'any' ? {} : { type: scalar }
  if (type === 'object') return { type: 'object' }
  // An object of which there is no copy: no event of ours has it.
  return objects.has(type) ? { $ref: `#/$defs/${type}` } : false
}

function scalarOf(type: string): 'string' | 'integer' | 'number' | 'boolean' | 'any' | null {
  const base = dictionary.types.attributes[type]?.type ?? type
  if (base === 'string_t') return 'string'
  if (base === 'integer_t' || base === 'long_t') return 'integer'
  if (base === 'float_t') return 'number'
  if (base === 'boolean_t') return 'boolean'
  return base === 'json_t' ? 'any' : null
}

function classSchema(name: string): Schema {
  const definition = inherited(name, events)
  const category = categories.attributes[definition.category ?? '']?.uid as number
  const classUid = category * 1000 + (definition.uid as number)
  const activities = Object.keys({
    ...dictionary.attributes.activity_id?.enum,
    ...definition.attributes.activity_id?.enum,
  })
  const names = [...objects.keys()]
  return {
    ...(schemaOf(definition, {
      class_uid: { const: classUid },
      category_uid: { const: category },
      type_uid: { enum: activities.map((each) => classUid * 100 + Number(each)) },
    }) as object),
    $defs: Object.fromEntries(names.map((each) => [each, schemaOf(inherited(each, objects))])),
  }
}

const ajv = new Ajv2020({ allErrors: true, strict: false })
const validators = new Map(
  ([3004, 3002, 2004] as const).map((uid) => {
    const names = { 3004: 'entity_management', 3002: 'authentication', 2004: 'detection_finding' }
    return [uid as number, ajv.compile(classSchema(names[uid]) as object)]
  }),
)

/** Asserts that a value is a valid event of OCSF 1.8.0, of one of the three classes that we use. */
export function assertOcsf(value: unknown): void {
  const { class_uid, activity_id, type_uid } = value as Record<string, number>
  const validate = validators.get(class_uid as number)
  assert.ok(validate, `the class ${class_uid}`)
  if (!validate(value)) assert.fail(`${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`)
  assert.equal(type_uid, (class_uid as number) * 100 + (activity_id as number))
}
