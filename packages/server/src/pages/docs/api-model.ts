import { type CurlContext, curlExample } from './curl-example.ts'
import type { ApiDocument, Content, Operation } from './openapi-types.ts'
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
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly parameters: readonly ApiParameter[]
  readonly body: readonly ApiBody[]
  readonly responses: readonly ApiResponse[]
  readonly errors: readonly string[]
  readonly curl: string
}

interface ApiParameter extends SchemaRow {
  readonly in: string
}

/** A body of one media type. */
export interface ApiBody {
  readonly type: string
  readonly rows: readonly SchemaRow[]
}

interface ApiResponse {
  readonly status: string
  readonly description: string
  readonly bodies: readonly ApiBody[]
}

/** Builds the data of the HTTP reference from the service's own OpenAPI document. */
export function apiModel(document: ApiDocument, context: CurlContext): ApiGroup[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags?.[0],
      ...describe(context, method.toUpperCase(), path, operation),
    })),
  )
  return (document.tags ?? []).map(({ name, description = name }) => ({
    name,
    title: description,
    operations: operations.filter(({ tag }) => tag === name),
  }))
}

function describe(
  context: CurlContext,
  method: string,
  path: string,
  operation: Operation,
): ApiOperation {
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
    parameters: parameters.map(
      ({ name, schema, required = false, description: about, ...each }) => ({
        in: each.in,
        ...rowOf(name, about === undefined ? schema : { ...schema, description: about }, !required),
      }),
    ),
    body: bodiesOf(requestBody?.content),
    responses: successes.map(([status, response]) => ({
      status,
      description: response.description,
      bodies: bodiesOf(response.content),
    })),
    errors: operation['x-errors'] ?? [],
    curl: curlExample(context, method, path, operation),
  }
}

function bodiesOf(content: Content = {}): ApiBody[] {
  return Object.entries(content).map(([type, { schema }]) => ({ type, rows: rowsOf(schema) }))
}
