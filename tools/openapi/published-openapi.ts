import { organisationParameter } from '@countersign/protocol'
import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'
import { ErrorResponses } from './error-responses.ts'
import { RecordedExamples } from './examples/examples.ts'
import { mediaExample } from './media-examples.ts'
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
import { ResponseHeaders } from './response-headers.ts'
import { STAND_IN_NAMES } from './stand-ins.ts'
import { webhookOperations } from './webhook-operations.ts'

type Responses = Operation['responses']

interface Shared {
  readonly examples: RecordedExamples
  readonly errors: ErrorResponses
  readonly headers: ResponseHeaders
}

/**
 * The document that /openapi.json serves, for generators and linters: schemas with names, patterns that other languages
 * compile, examples that a service was seen to answer, each status with its codes, and who needs a session. The HTTP reference
 * is built from the document as collected. Each deployment leaves out the error responses that it has not.
 */
export function publishOpenApi(collected: ApiDocument): ApiDocument {
  const { naming } = STAND_IN_NAMES
  const examples = new RecordedExamples()
  const shared: Shared = {
    examples,
    errors: new ErrorResponses(examples),
    headers: new ResponseHeaders(examples),
  }
  const paths = mapMembers(collected.paths, (methods, path) =>
    mapMembers(methods, (operation) => publishOperation(operation as Operation, path, shared)),
  ) as ApiDocument['paths']
  const webhooks = webhookOperations(naming, examples) as unknown as ApiDocument['paths']
  const responses = shared.errors.shared as ApiDocument['responses']
  const portable = withPortablePatterns({ ...collected, paths, webhooks, responses })
  const organisation = withPortablePatterns({
    in: 'query',
    name: 'organisation',
    required: false,
    schema: organisationParameter(),
    example: 'acme',
  })
  const { document, schemas } = nameSchemas(portable as ApiDocument)
  const { responses: named, ...rest } = document
  return {
    ...rest,
    components: {
      schemas,
      responses: named,
      parameters: { [ORGANISATION]: organisation },
      headers: shared.headers.shared,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

function publishOperation(operation: Operation, path: string, shared: Shared) {
  const { operationId, requestBody, responses, tags = [], 'x-limits': _, ...rest } = operation
  const isOwners = tags.includes('owner') && needsSession(operation)
  const sent = shared.examples.request(operationId)?.body
  const body = requestBody && {
    ...requestBody,
    content: mapMembers(requestBody.content, (media) =>
      sent === undefined ? media : { ...(media as object), example: sent },
    ),
  }
  const answers = mapMembers(responses, (response, status) =>
    publishResponse(operation, response as Responses[string], status, shared),
  ) as Responses
  return {
    ...rest,
    operationId,
    tags,
    security: isOwners ? ownerSecurity(operation) : otherSecurity(operation),
    parameters: parametersOf(operation, path, shared.examples),
    ...(body && { requestBody: body }),
    responses: shared.errors.of({ ...operation, responses: answers }),
  }
}

function ownerSecurity({ 'x-api-key-scope': scope }: Operation) {
  return scope === undefined ? [{ session: [] }] : [{ session: [] }, { apiKey: [scope] }]
}

function otherSecurity({ tags = [], responses }: Operation) {
  if (tags.includes('scim')) return [{ scimToken: [] }]
  return '303' in responses ? [{ flow: [] }] : []
}

function parametersOf(operation: Operation, path: string, examples: RecordedExamples): Parameter[] {
  const { idHeader } = STAND_IN_NAMES.naming
  const { operationId, parameters = [], responses } = operation
  const own = parameters.filter(({ name }) => name !== 'organisation')
  const known: Parameter[] = own.map((each) => {
    // Optional for the validator only, so that the handler reports a missing header in its own words.
    const isIdentification = each.in === 'header' && each.name === idHeader.toLowerCase()
    const named = isIdentification ? { ...each, name: idHeader, required: true } : each
    const isLookup = operationId === 'lookup' && each.in === 'path'
    const schema = isLookup ? referenceSchema() : each.schema
    return { ...named, schema, example: examples.parameter(operationId, path, each) }
  })
  if (own.length < parameters.length) known.push(SHARED_ORGANISATION)
  return '303' in responses ? [...known, ...CALLBACK_PARAMETERS] : known
}

/** The component that all operations share which a member may use. */
const ORGANISATION = 'Organisation'
const SHARED_ORGANISATION = {
  $ref: `#/components/parameters/${ORGANISATION}`,
} as unknown as Parameter

/** How a lookup can name an agent; contract 4.2 deprecates the last form. */
function referenceSchema() {
  const { didPattern } = STAND_IN_NAMES.naming
  const form = (title: string, pattern: string) => ({ title, type: 'string', pattern })
  return {
    anyOf: [
      form('DID', didPattern.source),
      form('Tail', '^[1-9A-HJ-NP-Za-km-z]{24}$'),
      { ...form('PublicKey', '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'), deprecated: true },
    ],
  }
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
  operation: Operation,
  response: Responses[string],
  status: string,
  { examples, headers }: Shared,
): Responses[string] {
  if (status.endsWith('XX')) return response
  const { content } = response
  return {
    ...response,
    ...headers.of(operation, status),
    ...(content && {
      content: mapMembers(content, (media, type) => {
        const example = mediaExample(examples, operation.operationId, status, type)
        return example === undefined ? media : { ...(media as object), example }
      }) as Content,
    }),
  }
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
  scimToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'A SCIM token of an organisation.',
  },
  flow: {
    type: 'apiKey',
    in: 'cookie',
    name: PLACEHOLDER.flowCookie,
    description: 'Binds a sign-in or identity verification to the browser that began it.',
  },
}
