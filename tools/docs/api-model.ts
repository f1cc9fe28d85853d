import { RecordedExamples } from '../openapi/examples/examples.ts'
import { mediaExample } from '../openapi/media-examples.ts'
import {
  type ApiDocument,
  type Content,
  mapMembers,
  type Operation,
  type Parameter,
} from '../openapi/openapi-types.ts'
import { curlExample } from './curl-example.ts'
import { rowOf, rowsOf, type SchemaRow } from './schema-rows.ts'

/** The operations of one tag. */
export interface ApiGroup {
  readonly name: string
  /** What the operations are for, in a few words. */
  readonly title: string
  readonly operations: readonly ApiOperation[]
}

export interface ApiOperation {
  readonly id: string
  /** The tag of its group. */
  readonly tag: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly parameters: readonly ApiParameter[]
  readonly body: readonly ApiBody[]
  readonly responses: readonly ApiResponse[]
  readonly errors: readonly string[]
  /** The scope with which API keys may use it, or null. */
  readonly apiKeyScope: string | null
  readonly curl: string
}

interface ApiParameter extends SchemaRow {
  readonly in: string
  readonly example: string
}

/** A body of one media type. */
export interface ApiBody {
  readonly type: string
  readonly rows: readonly SchemaRow[]
  /** Of a response, as indented JSON; null for requests and other media types. */
  readonly example: string | null
  /** Whether lists of the example have their first member only. */
  readonly isShortened: boolean
}

interface ApiResponse {
  readonly status: string
  readonly description: string
  readonly bodies: readonly ApiBody[]
}

/** Builds the data of the HTTP reference from the service's own OpenAPI document. */
export function apiModel(document: ApiDocument): ApiGroup[] {
  const examples = new RecordedExamples()
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags?.[0] ?? '',
      ...describe(examples, method.toUpperCase(), path, operation),
    })),
  )
  return (document.tags ?? []).map(({ name, description = name }) => ({
    name,
    title: description,
    operations: operations.filter(({ tag }) => tag === name),
  }))
}

function describe(
  examples: RecordedExamples,
  method: string,
  path: string,
  operation: Operation,
): Omit<ApiOperation, 'tag'> {
  const {
    operationId,
    summary,
    description = '',
    parameters = [],
    requestBody,
    responses,
  } = operation
  // Errors share one shape and are listed by code instead.
  const successes = Object.entries(responses).filter(([status]) => !/^[45]XX$/.test(status))
  return {
    id: operationId,
    method,
    path,
    summary,
    description,
    parameters: parameters.map((each) => ({
      in: each.in,
      example: String(examples.parameter(operationId, path, each)),
      ...parameterRow(each),
    })),
    body: bodiesOf(requestBody?.content),
    responses: successes.map(([status, response]) => ({
      status,
      description: response.description,
      bodies: bodiesOf(response.content, (type) =>
        mediaExample(examples, operationId, status, type),
      ),
    })),
    errors: operation['x-errors'] ?? [],
    apiKeyScope: operation['x-api-key-scope'] ?? null,
    curl: curlExample(examples, method, path, operation),
  }
}

function parameterRow({ name, schema, required = false, description }: Parameter): SchemaRow {
  const described = description === undefined ? schema : { ...schema, description }
  return rowOf(name, described, !required)
}

function bodiesOf(content: Content = {}, exampleOf?: (type: string) => unknown): ApiBody[] {
  return Object.entries(content).map(([type, { schema }]) => {
    const value = type.endsWith('json') ? exampleOf?.(type) : undefined
    const whole = value === undefined ? null : JSON.stringify(value, null, 2)
    const isShortened = whole !== null && whole.length > MOST_CHARACTERS
    const example = isShortened ? JSON.stringify(shortened(value), null, 2) : whole
    return { type, rows: rowsOf(schema), example, isShortened }
  })
}

/** Longer examples make a page slow, and are read by nobody. `/openapi.json` has them whole. */
const MOST_CHARACTERS = 3000

function shortened(value: unknown): unknown {
  return Array.isArray(value) ? value.slice(0, 1).map(shortened) : mapMembers(value, shortened)
}
