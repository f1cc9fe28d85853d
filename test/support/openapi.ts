import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Answer } from './answer.ts'
import type { TestService } from './service.ts'

type Schema = Record<string, unknown>
interface Media {
  readonly schema: Schema
}
interface ResponseObject {
  readonly headers?: Record<string, Media & { readonly required?: boolean }>
  readonly content?: Record<string, Media>
}
export interface Operation {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly requestBody?: { readonly content: Record<string, Media> }
  readonly responses: Record<string, ResponseObject>
  /** The codes with which it can refuse. */
  readonly 'x-errors'?: readonly string[]
}
export interface OpenApiDocument {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
}

const known = new WeakMap<TestService, Promise<OpenApi>>()

/** What a service says of itself at /openapi.json, fetched once. */
export function openApiOf(service: TestService): Promise<OpenApi> {
  const openApi = known.get(service) ?? fetchOpenApi(service.url)
  known.set(service, openApi)
  return openApi
}

const MOST_JUDGES = 10
const judges = new Map<string, Promise<OpenApi>>()

/**
 * A document to judge the answers of a service by: that of an equal service, if there was one, because preparing it takes time.
 * Only its URLs may differ.
 * @param env the service's settings
 * @param url where it answers
 */
export function judgeFor(
  { PORT, DATA_DIR, DATABASE_URL, ...settings }: TestService['env'],
  url: string,
) {
  // The base URL is made of the port where it is not set.
  const configuration = JSON.stringify(settings)
  const judge = judges.get(configuration) ?? fetchOpenApi(url)
  judges.set(configuration, judge)
  // One that could not be fetched is no judge of the next service.
  judge.catch(() => judges.delete(configuration))
  const [oldest] = judges.keys()
  if (judges.size > MOST_JUDGES) judges.delete(oldest as string)
  return judge
}

/** Over a connection of its own: the service may be closing one that was kept since its tests. */
async function fetchOpenApi(url: string): Promise<OpenApi> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}/openapi.json`, { agent: false }, resolve).once('error', reject)
  })
  const body = await text(response)
  assert.equal(response.statusCode, 200, body)
  return new OpenApi(JSON.parse(body) as OpenApiDocument)
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)

/** By the text of the schema: every service has the same ones, and compiling them costs more than a whole test. */
const validators = new Map<string, ValidateFunction>()
const validatorOf = new WeakMap<Schema, ValidateFunction>()

function validatorFor(schema: Schema): ValidateFunction {
  const known = validatorOf.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema)
  const validate = validators.get(text) ?? ajv.compile(closed(schema) as Schema)
  validators.set(text, validate)
  validatorOf.set(schema, validate)
  return validate
}

/** An OpenAPI 3.1 document as the judge of answers. */
export class OpenApi {
  /** As it is served. */
  readonly published: OpenApiDocument
  readonly #patterns: readonly (readonly [template: string, pattern: RegExp])[]
  readonly #dereferenced = new Map<unknown, unknown>()

  constructor(published: OpenApiDocument) {
    this.published = published
    this.#patterns = Object.keys(published.paths).map((each) => [each, pathPattern(each)])
  }

  /** With every reference replaced by what it refers to. */
  get document(): OpenApiDocument {
    return this.#whole(this.published)
  }

  /** A part of the document with its references replaced, once: most services answer few of the operations. */
  #whole<T>(part: T): T {
    const known = this.#dereferenced.get(part) ?? dereferenced(part, this.published)
    this.#dereferenced.set(part, known)
    return known as T
  }

  /** The operation that a request is for, or null where the document has none. HEAD is answered like GET. */
  operationOf(method: string, target: string): Operation | null {
    const path = target.split(/[?#]/)[0] as string
    const matching = this.#patterns.filter(([, pattern]) => pattern.test(path))
    const templates = matching.map(([template]) => template)
    // A template of fewer parameters is the more specific one.
    templates.sort((a, b) => a.split('{').length - b.split('{').length)
    const operations = this.published.paths[templates[0] ?? '']
    const operation = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
    return operation === undefined ? null : this.#whole(operation)
  }

  /**
   * Asserts that an answer is one that the document foresees: its status, its media type, every member of its body
   * and no other. What is no operation of the document is not judged.
   */
  assertConforms(method: string, target: string, answer: Answer): void {
    const operation = this.operationOf(method, target)
    if (operation === null) return
    const { operationId, responses } = operation
    const status = String(answer.status)
    // Ranges are in the description of sessions only.
    const response = responses[status] ?? responses[`${status[0]}XX`]
    assert.ok(response, `${operationId} says nothing of status ${status}: ${answer.text}`)
    assertHeaders(`${operationId} ${status}`, response, answer)
    if (method === 'HEAD') assert.equal(answer.text, '', 'a HEAD request has no body in its answer')
    else this.#assertBody(`${operationId} ${status}`, response, answer)
    const code = /^\{(?:"schemas":\["urn:.*,)?"error":\{"code":"(\w+)"/.exec(answer.text)?.[1]
    if (code !== undefined) {
      assert.ok(operation['x-errors']?.includes(code), `${operationId} says nothing of ${code}`)
    }
  }

  #assertBody(name: string, { content }: ResponseObject, { headers, text }: Answer): void {
    const type = headers.get('content-type')?.split(';')[0]
    if (content === undefined || type === undefined) {
      assert.deepEqual([content, type, text], [undefined, undefined, ''], `${name} has no body`)
      return
    }
    const schema = content[type]?.schema
    assert.ok(schema, `${name} says nothing of ${type}`)
    if (type === 'application/x-ndjson') {
      for (const line of text.split('\n').filter((each) => each !== ''))
        this.assertValid(name, schema, JSON.parse(line))
      return
    }
    this.assertValid(name, schema, /json$/.test(type) ? JSON.parse(text) : text)
  }

  assertValid(name: string, schema: Schema, value: unknown): void {
    const validate = validatorFor(schema)
    if (!validate(value)) assert.fail(`${name}: ${ajv.errorsText(validate.errors)}`)
  }
}

/** Every header that a response always has, with its only value if there is one. */
function assertHeaders(name: string, { headers = {} }: ResponseObject, answer: Answer): void {
  for (const [header, { required = false, schema }] of Object.entries(headers)) {
    const value = answer.headers.get(header)
    if (!required && value === null) continue
    assert.notEqual(value, null, `${name} has ${header}`)
    if ('const' in schema) assert.equal(value, schema.const, `${name}: ${header}`)
  }
}

function dereferenced(value: unknown, document: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => dereferenced(each, document))
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value) return dereferenced(resolve(document, value.$ref as string), document)
  const members = Object.entries(value).map(([k, v]) => [k, dereferenced(v, document)])
  return Object.fromEntries(members)
}

/** @throws AssertionError if there is nothing at the reference */
function resolve(document: unknown, reference: string): unknown {
  const [start, ...steps] = reference.split('/')
  assert.equal(start, '#', 'references stay within the document')
  let value = document as Record<string, unknown> | undefined
  for (const step of steps) value = value?.[step] as Record<string, unknown> | undefined
  assert.ok(value !== undefined, reference)
  return value
}

function pathPattern(template: string): RegExp {
  const escaped = template.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`)
}

/** The schema with no room for members that it does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([k, v]) => [k, closed(v)]))
  return 'properties' in copy ? { additionalProperties: false, ...copy } : copy
}
