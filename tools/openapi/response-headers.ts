import type { RecordedExamples } from './examples/examples.ts'
import type { Operation } from './openapi-types.ts'

const text = (description: string, example: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' },
  example,
})

/** The response headers of all operations, as components. */
const HEADERS: Readonly<Record<string, object>> = {
  ETag: text(
    'The version of the resource (RFC 9110)',
    '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
  ),
  Location: text(
    'The dashboard page; its query parameters name a failure, if there is one',
    '/dashboard/identity',
  ),
  Deprecation: text(
    'If the agent is named by its public key: since when that is deprecated (RFC 9745)',
    '@1795219200',
    false,
  ),
  Allow: text('The methods of this URL', 'GET, HEAD, OPTIONS'),
  RetryAfter: text('The number of seconds to wait (RFC 9110)', '30', false),
  RateLimitPolicy: text(
    'The limits of the request: `q` requests in `w` seconds',
    '"reads";q=100;w=60',
    false,
  ),
  RateLimit: text(
    'What remains: `r` requests, until the reset in `t` seconds',
    '"reads";r=0;t=12',
    false,
  ),
}

/** For each value of Cache-Control a component of its own, since it seldom differs between answers of an operation. */
function cacheControlName(value: string): string {
  const words = value.split(/[^A-Za-z0-9]+/).map((word) => word[0]?.toUpperCase() + word.slice(1))
  return `CacheControl${words.join('')}`
}

function cacheControl(value: string): object {
  return {
    description: 'For how long the response can be stored (RFC 9111)',
    required: true,
    schema: { type: 'string', const: value },
  }
}

/**
 * A picture is stored for a day at the URL of its version, else for 30 seconds; the feed for a second, a stream of it not; the
 * page of a certificate by no shared cache if its visitor is signed in.
 */
const WITH_SEVERAL = new Set(['givenAvatar', 'statusFeed', 'certificate'])

/** Collects the headers of responses, from what the service was seen to answer. */
export class ResponseHeaders {
  readonly shared: Record<string, object> = {
    CacheControl: text('For how long the response can be stored (RFC 9111)', 'public, max-age=30'),
    CacheControlNoStore: cacheControl('no-store'),
    ...HEADERS,
  }
  readonly #examples: RecordedExamples

  constructor(examples: RecordedExamples) {
    this.#examples = examples
  }

  /** The headers of a success; a 304 has those of the 200. Undefined if there are none. */
  of({ operationId }: Operation, status: string): { readonly headers?: object } {
    const recorded = this.#examples.response(operationId, status === '304' ? '200' : status)
    const { etag, location, 'cache-control': caching } = recorded?.headers ?? {}
    const headers: Record<string, object> = {}
    const refer = (header: string, name: string) => {
      headers[header] = { $ref: `#/components/headers/${name}` }
    }
    if (etag !== undefined) refer('ETag', 'ETag')
    if (location !== undefined) refer('Location', 'Location')
    if (operationId === 'lookup') refer('Deprecation', 'Deprecation')
    if (WITH_SEVERAL.has(operationId)) refer('Cache-Control', 'CacheControl')
    else if (caching !== undefined) {
      const name = cacheControlName(caching)
      this.shared[name] ??= cacheControl(caching)
      refer('Cache-Control', name)
    }
    return Object.keys(headers).length === 0 ? {} : { headers }
  }
}
