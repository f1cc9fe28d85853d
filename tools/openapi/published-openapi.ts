import { ifLimited, PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'
import { type ExampleNames, ownExamples } from './examples.ts'
import { nameSchemas } from './named-schemas.ts'
import { needsSession } from './needs-session.ts'
import {
  type ApiDocument,
  type Content,
  isRecord,
  mapMembers,
  type Operation,
  type Parameter,
} from './openapi-types.ts'
import { portablePattern } from './portable-pattern.ts'
import { validExample } from './schema-examples.ts'

type Responses = Operation['responses']

/**
 * The document that /openapi.json serves, for generators and linters: schemas with names, patterns that other languages
 * compile, examples, and who needs a session. The HTTP reference is built from the document as collected. Each deployment
 * leaves out the error responses that it has not.
 */
export function publishOpenApi(collected: ApiDocument, deps: ExampleNames): ApiDocument {
  const paths = mapMembers(collected.paths, (methods) =>
    mapMembers(methods, (operation) => publishOperation(operation as Operation, deps)),
  )
  const { document, schemas } = nameSchemas(
    withPortablePatterns({ ...collected, paths }) as ApiDocument,
  )
  const { responses, shared } = shareErrors(document)
  return {
    ...shared,
    components: { schemas, responses, securitySchemes: SECURITY_SCHEMES },
  }
}

function publishOperation(operation: Operation, deps: ExampleNames): Operation {
  const { operationId, requestBody, responses, tags = [] } = operation
  const own = ownExamples(operationId, deps.naming, deps.baseUrl)
  const isCallback = '303' in responses
  const isOwners = tags.includes('owner') && needsSession(operation)
  const body = requestBody && {
    ...requestBody,
    content: withExamples(requestBody.content, deps, own),
  }
  return {
    ...operation,
    security: isOwners ? ownerSecurity(operation) : isCallback ? [{ flow: [] }] : [],
    parameters: parametersOf(operation, deps),
    ...(body && { requestBody: body }),
    responses: mapMembers(responses, (response, status) =>
      publishResponse(response as Responses[string], status, deps),
    ) as Responses,
  }
}

function ownerSecurity({ 'x-api-key-scope': scope }: Operation) {
  return scope === undefined ? [{ session: [] }] : [{ session: [] }, { apiKey: [scope] }]
}

function parametersOf(operation: Operation, deps: ExampleNames): Parameter[] {
  const { idHeader } = deps.naming
  const known = (operation.parameters ?? []).map((each) => {
    // Optional for the validator only, so that the handler reports a missing header in its own words.
    const isIdentification = each.in === 'header' && each.name === idHeader.toLowerCase()
    const named = isIdentification ? { ...each, name: idHeader, required: true } : each
    return { ...named, example: validExample(deps, each.name, each.schema) }
  })
  return '303' in operation.responses ? [...known, ...CALLBACK_PARAMETERS] : known
}

/** What providers add to the callback URL (OpenID Connect Core section 3.1.2.5, RFC 6749 section 4.1.2.1). */
const CALLBACK_PARAMETERS: readonly Parameter[] = [
  ['code', 'the authorization code, if the provider approved', 'SplxlOBeZQQYbYS6WxSbIA'],
  ['state', 'the state that the service sent', 'af0ifjsldkj'],
  ['error', 'the error code, if the provider refused', 'access_denied'],
].map(([name = '', description = '', example]) => ({
  in: 'query',
  name,
  description,
  required: false,
  schema: { type: 'string' },
  example,
}))

function publishResponse(
  response: Responses[string],
  status: string,
  deps: ExampleNames,
): Responses[string] {
  const { content } = response
  const own = status.endsWith('XX') ? { error: ERROR_EXAMPLES[status[0] as '4' | '5'] } : {}
  return {
    ...response,
    ...(status === '303' && { headers: REDIRECT_HEADERS }),
    ...(content && { content: withExamples(content, deps, own) }),
  }
}

const REDIRECT_HEADERS = {
  Location: {
    description: 'The dashboard page; its query parameters name a failure, if there is one',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
    example: '/dashboard/identity',
  },
}

const REQUEST_ID = 'req_9f86d081884c7d659a2feaa0'

/** Errors that every operation can answer with. */
const ERROR_EXAMPLES = {
  '4': {
    code: 'VALIDATION_ERROR',
    message: 'body.agentId must be a label of 1 to 128 characters without control characters',
    requestId: REQUEST_ID,
  },
  '5': {
    code: 'UNAVAILABLE',
    message: 'The service is busy. Try again later.',
    requestId: REQUEST_ID,
  },
} as const

/** Moves the error responses, which operations share, to components: with and without headers of rate limits. */
function shareErrors(document: ApiDocument) {
  const responses: Record<string, Responses[string]> = {}
  const share = (name: string, response: Responses[string]) => {
    responses[name] ??= response
    if (JSON.stringify(responses[name]) !== JSON.stringify(response))
      throw new Error(`two error responses are ${name}`)
  }
  const shareResponse = (
    response: Responses[string],
    status: string,
    limits: readonly string[],
  ) => {
    if (!status.endsWith('XX')) return response
    const page = 'text/html' in (response.content ?? {}) ? 'OrPage' : ''
    const name = `${status === '4XX' ? 'ClientError' : 'ServerError'}${page}`
    share(name, response)
    if (status !== '4XX' || limits.length === 0) return { $ref: `#/components/responses/${name}` }
    share(`${name}WithRateLimit`, { ...response, headers: RATE_LIMIT_HEADERS } as typeof response)
    return { $ref: `#/components/responses/${name}${ifLimited(limits, 'WithRateLimit')}` }
  }
  const paths = mapMembers(document.paths, (methods) =>
    mapMembers(methods, (each) => {
      const { 'x-limits': limits = [], ...operation } = each as Operation
      const shared = mapMembers(operation.responses, (response, status) =>
        shareResponse(response as Responses[string], status, limits),
      )
      return { ...operation, responses: shared }
    }),
  ) as ApiDocument['paths']
  return { responses, shared: { ...document, paths } }
}

/** The headers of a refusal over a limit. */
const RATE_LIMIT_HEADERS = {
  'Retry-After': {
    description: 'with RATE_LIMITED: the number of seconds to wait (RFC 9110)',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'the limits of the request: `q` requests in `w` seconds',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'what remains: `r` requests, until the reset in `t` seconds',
    schema: { type: 'string' },
  },
} as const

function withExamples(content: Content, deps: ExampleNames, own: Record<string, unknown>): Content {
  return mapMembers(content, (media, type) => {
    const { schema } = media as Content[string]
    if (!type.endsWith('json')) return { ...TEXT_EXAMPLES[type], ...(media as object) }
    const example = validExample(deps, '', schema)
    return { ...(media as object), example: isRecord(example) ? { ...example, ...own } : example }
  }) as Content
}

const TEXT_EXAMPLES: Readonly<Record<string, { readonly example: string }>> = {
  'text/html': { example: '<!doctype html><title>…</title>' },
  'text/markdown': { example: '# …' },
  'text/plain': { example: '…' },
  'image/svg+xml': { example: '<svg xmlns="http://www.w3.org/2000/svg"/>' },
  'application/jwt': { example: 'eyJhbGciOiJFZERTQSJ9.e30.c2ln' },
  'application/dc+sd-jwt': { example: 'eyJhbGciOiJFZERTQSJ9.e30.c2ln~' },
  'application/statuslist+jwt': { example: 'eyJhbGciOiJFZERTQSJ9.e30.c2ln' },
  'text/event-stream': { example: 'event: agent.suspended\nid: 120\ndata: {}\n\n' },
}

function withPortablePatterns(value: unknown): unknown {
  const copy = mapMembers(value, withPortablePatterns)
  if (!isRecord(copy) || typeof copy.pattern !== 'string') return copy
  const { pattern, ...rest } = copy
  const portable = portablePattern(pattern)
  return portable === null ? rest : { ...rest, pattern: portable }
}

const SECURITY_SCHEMES = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: PLACEHOLDER.sessionCookie,
    description: 'The session of a signed-in owner. Changes need the Origin of the service.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of an owner with the scope that the operation names.',
  },
  flow: {
    type: 'apiKey',
    in: 'cookie',
    name: PLACEHOLDER.flowCookie,
    description: 'Binds a sign-in or identity verification to the browser that began it.',
  },
}
