/** The subset of OpenAPI 3.1 that the collected document uses: no references, and unions of types and of objects only. */
export interface ApiDocument {
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks?: ApiDocument['paths']
  /** Responses that operations share, before they become components. */
  readonly responses?: Operation['responses']
  /** Only in the published document. */
  readonly components?: Readonly<Record<string, unknown>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content; readonly required?: boolean }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Content }>
  >
  readonly 'x-errors'?: readonly string[]
  /** Names of the rate limits that apply to it in some deployments. Not in the published document. */
  readonly 'x-limits'?: readonly string[]
  /** The scope with which API keys may use the operation. */
  readonly 'x-api-key-scope'?: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

export interface Parameter {
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: unknown
}

export type Content = Readonly<Record<string, { readonly schema: Schema }>>

export interface Schema {
  /** Its name among the components. */
  readonly title?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  /** Of objects, or of objects and texts. */
  readonly anyOf?: readonly Schema[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly minItems?: number
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A copy of a JSON value with its members or elements mapped. */
export function mapMembers(
  value: unknown,
  map: (member: unknown, key: string) => unknown,
): unknown {
  if (Array.isArray(value)) return value.map((each, i) => map(each, String(i)))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, map(each, key)]))
}
