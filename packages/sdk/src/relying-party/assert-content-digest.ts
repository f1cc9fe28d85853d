import { matchesContentDigest, namingFor, readBody } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** A request whose body was read already. */
export interface ReceivedBody {
  /** As in `Request`, or as in `IncomingMessage` of node:http, with names in lower case. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes as they were received, before any decoding; null without a body. */
  readonly body: Uint8Array | null
}

/** Options of `assertContentDigest`. */
export interface ContentDigestOptions {
  /** The deployment's identification header. Default: `ServiceID`. */
  readonly idHeader?: string | undefined
}

/**
 * Checks the body of a request behind a gateway that cannot see bodies, such as nginx with countersign-gateway. The gateway passes
 * the digest that the agent signed in `X-ServiceID-Content-Digest` (RFC 9530). Call it before you trust
 * the body. It reads a clone of a `Request`, up to 10 MiB.
 * @throws CountersignError INVALID_SIGNATURE if the body has another digest, or there is a body without the header;
 *   PAYLOAD_TOO_LARGE; INVALID_ARGUMENT if `idHeader` is not a header name
 */
export async function assertContentDigest(
  request: Request | ReceivedBody,
  { idHeader }: ContentDigestOptions = {},
): Promise<void> {
  // Some proxies set the header to nothing if there is no digest.
  const field = fieldOf(request.headers, headerName(idHeader)) || null
  const body = 'url' in request ? await readBody(request.clone()) : request.body
  if (body === 'too-large') {
    throw new CountersignError('PAYLOAD_TOO_LARGE', 'The body is too large to check its digest.')
  }
  const bytes = body ?? new Uint8Array()
  if (field === null ? bytes.length === 0 : isDigestOf(field, bytes)) return
  const message =
    field === null
      ? 'The request has a body, but no signature covers its digest.'
      : 'The body does not match the signed digest.'
  throw new CountersignError('INVALID_SIGNATURE', message)
}

function headerName(idHeader: string | undefined): string {
  try {
    return namingFor(undefined, idHeader).forwardedHeaders.contentDigest.toLowerCase()
  } catch {
    throw new CountersignError('INVALID_ARGUMENT', 'idHeader must be the name of a header.')
  }
}

function fieldOf(headers: ReceivedBody['headers'], name: string): string | null {
  if (headers instanceof Headers) return headers.get(name)
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? (value ?? null) : value.join(', ')
}

/** A malformed field matches no body. */
function isDigestOf(field: string, body: Uint8Array): boolean {
  try {
    return matchesContentDigest(field, body)
  } catch {
    return false
  }
}
