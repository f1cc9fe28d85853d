import { CodedError, hasRepeatedMembers } from '@countersign/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import secureJson from 'secure-json-parse'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the JSON body, which a signature of the request covers; null if it has none. */
    rawBody: Uint8Array | null
  }
}

/** Replaces Fastify's JSON parser with one that rejects everything that two parsers could read differently. */
export function parseJsonStrictly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('rawBody', null)
  acceptJson(app, 'application/json')
}

/** Accepts JSON of a media type in a scope, parsed like that of `parseJsonStrictly`. */
export function acceptJson(app: FastifyInstance, type: string): void {
  app.addContentTypeParser(
    type,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const { headers } = request
      assertNoContentEncoding(headers['content-encoding'])
      assertUtf8(headers['content-type'] ?? '')
      const value = parseStrictJson(body)
      request.rawBody = body
      return value
    },
  )
}

/** Rejects compressed bodies: a proxy that decompresses them would see another body. @throws CodedError UNSUPPORTED_MEDIA_TYPE */
export function assertNoContentEncoding(coding = 'identity'): void {
  if (coding.toLowerCase() === 'identity') return
  throw new CodedError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.')
}

function assertUtf8(contentType: string): void {
  if (!contentType.includes(';')) return
  for (const [, charset] of contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)) {
    if (charset?.toLowerCase() !== 'utf-8') {
      throw new CodedError('UNSUPPORTED_MEDIA_TYPE', 'Send the JSON body in UTF-8.')
    }
  }
}

/** Parses JSON as `parseStrictText` does. @throws CodedError VALIDATION_ERROR, also if it is not well-formed UTF-8 */
function parseStrictJson(body: Uint8Array): unknown {
  return parseStrictText(decode(body), 'The body')
}

/**
 * Parses JSON. Rejects byte order marks, duplicate keys and `__proto__`.
 * @param subject what the text is, to begin the sentence of an error
 * @throws CodedError VALIDATION_ERROR
 */
export function parseStrictText(text: string, subject: string): unknown {
  // RFC 8259 section 8.1 forbids it, but secure-json-parse would skip it.
  if (text.startsWith('\ufeff')) {
    throw new CodedError('VALIDATION_ERROR', `${subject} begins with a byte order mark.`)
  }
  const value = parse(text, subject)
  if (hasRepeatedMembers(text, value)) {
    throw new CodedError('VALIDATION_ERROR', `${subject} has a duplicate key in an object.`)
  }
  return value
}

function decode(body: Uint8Array): string {
  try {
    return decoder.decode(body)
  } catch {
    throw new CodedError('VALIDATION_ERROR', 'The body is not well-formed UTF-8.')
  }
}

function parse(text: string, subject: string): unknown {
  try {
    return secureJson.parse(text)
  } catch {
    throw new CodedError('VALIDATION_ERROR', `${subject} is not JSON.`)
  }
}
