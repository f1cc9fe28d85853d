import { type ExampleNames, TAIL, valuesOf } from './examples.ts'
import type { Schema } from './openapi-types.ts'

/**
 * An example that is valid for a schema, with all members of objects.
 * @param name of the field, which says more than its type
 */
export function validExample(context: ExampleNames, name: string, schema: Schema): unknown {
  const { properties, items } = schema
  const [type] = [schema.type ?? []].flat()
  if (schema.enum !== undefined) return schema.enum[0]
  const [alternative] = schema.anyOf ?? []
  if (alternative !== undefined) return validExample(context, name, alternative)
  if ('const' in schema) return schema.const
  if (properties !== undefined) {
    const members = Object.entries(properties)
    return Object.fromEntries(
      members.map(([key, member]) => [key, validExample(context, key, member)]),
    )
  }
  if (type === 'array') {
    const length = Math.max(1, schema.minItems ?? 1)
    return items === undefined ? [] : Array(length).fill(validExample(context, name, items))
  }
  if (type === 'string') return textExample(context, name, schema)
  if (type === 'integer' || type === 'number') return Math.max(1, schema.minimum ?? 1)
  return type === 'boolean' ? true : type === 'null' ? null : {}
}

function textExample({ naming, baseUrl }: ExampleNames, name: string, schema: Schema): string {
  const known = valuesOf(naming)
  const did = `${naming.didPrefix}${TAIL}`
  const candidates = [
    known[name],
    BY_FORMAT[schema.format ?? '']?.(baseUrl),
    'text',
    ...Object.values(known),
    `did:web:agents.example.com:agent:${did}`,
    ...SHAPES,
  ]
  const isValid = (text: unknown): text is string => typeof text === 'string' && fits(text, schema)
  // A test validates all examples: a field for which nothing fits needs a value of its own in `valuesOf`.
  return candidates.find(isValid) ?? ''
}

/** Texts for patterns whose fields have no example of their own. */
const SHAPES = [
  ...['req_9f86d081884c7d659a2feaa0', '@ada', '0,0,512', '1'],
  'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  `whsec_${'0123456789abcdef'.repeat(3).slice(0, 43)}=`,
]

const BY_FORMAT: Readonly<Record<string, (baseUrl: string) => string>> = {
  'date-time': () => '2026-11-21T10:32:33.953Z',
  date: () => '2026-11-21',
  uri: (baseUrl) => `${baseUrl}/agent/ada`,
  email: () => 'ada@example.com',
}

function fits(text: string, { pattern, format, minLength = 0, maxLength }: Schema): boolean {
  const length = [...text].length
  if (length < minLength || length > (maxLength ?? length)) return false
  if (format === 'date-time' && !/^\d{4}-.*Z$/.test(text)) return false
  if (format === 'date' && !/^\d{4}-\d\d-\d\d$/.test(text)) return false
  if (format === 'uri' && !URL.canParse(text)) return false
  return pattern === undefined || new RegExp(pattern, 'u').test(text)
}
