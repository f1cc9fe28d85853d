import { RecordedExamples } from '../openapi/examples/examples.ts'
import { mediaExample } from '../openapi/media-examples.ts'
import {
  type ApiDocument,
  type Content,
  mapMembers,
  type Operation,
  type Parameter,
} from '../openapi/openapi-types.ts'
import { API_RESOURCES } from './api-resources.ts'
import { curlExample } from './curl-example.ts'
import { rowOf, rowsOf, type SchemaRow } from './schema-rows.ts'

/** The HTTP reference. */
export interface ApiReference {
  readonly sections: readonly ApiSection[]
  /** Error codes that every operation has. */
  readonly errors: readonly string[]
}

/** The pages of one tag. */
export interface ApiSection {
  readonly name: string
  /** What the operations are for, in a few words. */
  readonly title: string
  readonly pages: readonly ApiPage[]
}

/** The operations of a resource. */
export interface ApiPage {
  readonly name: string
  readonly title: string
  readonly tag: string
  readonly operations: readonly ApiOperation[]
  /** Error codes that all of its operations have, without those that every operation has. */
  readonly errors: readonly string[]
}

export interface ApiOperation {
  readonly id: string
  readonly tag: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly parameters: readonly ApiParameter[]
  readonly body: readonly ApiBody[]
  readonly responses: readonly ApiResponse[]
  /** Error codes; on a page without those that all of its operations have. */
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
  /** The operation above it on the page that answers with the same fields, and describes them. */
  readonly sameAs: Pick<ApiOperation, 'id' | 'summary'> | null
}

interface ApiResponse {
  readonly status: string
  readonly description: string
  readonly bodies: readonly ApiBody[]
}

/**
 * Builds the data of the HTTP reference from the service's own OpenAPI document.
 * @throws Error if an operation is on no page
 */
export function apiModel(document: ApiDocument): ApiReference {
  const examples = new RecordedExamples()
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      describe(examples, method.toUpperCase(), path, operation),
    ),
  )
  const everywhere = errorsOfAll(operations)
  const pages = pagesOf(operations, everywhere)
  return {
    errors: everywhere,
    sections: (document.tags ?? []).map(({ name, description = name }) => ({
      name,
      title: description,
      pages: pages.filter(({ tag }) => tag === name),
    })),
  }
}

function pagesOf(operations: readonly ApiOperation[], everywhere: readonly string[]): ApiPage[] {
  const byId = new Map(operations.map((each) => [each.id, each]))
  const pages = API_RESOURCES.map(({ operations: ids, ...page }) => {
    const here = ids.flatMap((id) => byId.get(id) ?? [])
    const shared = errorsOfAll(here)
    for (const { id, tag } of here) {
      if (tag !== page.tag) throw new Error(`${id} has another tag than its page ${page.name}`)
      byId.delete(id)
    }
    return {
      ...page,
      operations: withoutRepeats(here).map((each) => ({
        ...each,
        errors: each.errors.filter((code) => !shared.includes(code)),
      })),
      errors: shared.filter((code) => !everywhere.includes(code)),
    }
  })
  const [homeless] = byId.keys()
  if (homeless === undefined) return pages
  throw new Error(`Add ${homeless} to a page in tools/docs/api-resources.ts`)
}

/** Codes that all of them have in every deployment. */
function errorsOfAll(operations: readonly ApiOperation[]): string[] {
  const [first, ...others] = operations
  return (first?.errors ?? []).filter(
    (code) => /^\w+$/.test(code) && others.every(({ errors }) => errors.includes(code)),
  )
}

/** Fewer fields are as short as a link to them. */
const FEWEST_ROWS = 6

/** Replaces the fields and the example of a response by a link if an operation above it answers with the same. */
function withoutRepeats(operations: readonly ApiOperation[]): ApiOperation[] {
  const described = new Map<string, ApiOperation>()
  return operations.map((operation) => ({
    ...operation,
    responses: operation.responses.map((response) => ({
      ...response,
      bodies: response.bodies.map((body) => {
        const fields = JSON.stringify([body.type, body.rows])
        const first = described.get(fields)
        if (first === undefined) described.set(fields, operation)
        if (first === undefined || body.rows.length < FEWEST_ROWS) return body
        return {
          ...body,
          rows: [],
          example: null,
          sameAs: { id: first.id, summary: first.summary },
        }
      }),
    })),
  }))
}

function describe(
  examples: RecordedExamples,
  method: string,
  path: string,
  operation: Operation,
): ApiOperation {
  const {
    operationId,
    tags = [],
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
    tag: tags[0] ?? '',
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
    return { type, rows: rowsOf(schema), example, isShortened, sameAs: null }
  })
}

/** Longer examples make a page slow, and are read by nobody. `/openapi.json` has them whole. */
const MOST_CHARACTERS = 3000

function shortened(value: unknown): unknown {
  return Array.isArray(value) ? value.slice(0, 1).map(shortened) : mapMembers(value, shortened)
}
