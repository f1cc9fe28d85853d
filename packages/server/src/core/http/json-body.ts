import type { IncomingHttpHeaders } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import secureJson from 'secure-json-parse'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Replaces Fastify's JSON parser by one that lets nothing through that two readers could read differently. */
export function parseJsonStrictly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async ({ headers }: { headers: IncomingHttpHeaders }, body: Buffer) => {
      requireNoCoding(headers['content-encoding'])
      requireUtf8(headers['content-type'] ?? '')
      return parseStrictJson(body)
    },
  )
}

/** A proxy may unpack a coded body, and would then read another one than we do. */
export function requireNoCoding(coding = 'identity'): void {
  if (coding.toLowerCase() === 'identity') return
  throw new CodedError('UNSUPPORTED_MEDIA_TYPE', 'A body comes without Content-Encoding.')
}

function requireUtf8(contentType: string): void {
  for (const [, charset] of contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)) {
    if (charset?.toLowerCase() !== 'utf-8') {
      throw new CodedError('UNSUPPORTED_MEDIA_TYPE', 'A JSON body is in UTF-8.')
    }
  }
}

/**
 * JSON of well-formed UTF-8 without a byte order mark, without duplicate keys, without `__proto__`.
 * @throws CodedError VALIDATION_ERROR
 */
function parseStrictJson(body: Uint8Array): unknown {
  const text = decode(body)
  // JSON has none (RFC 8259 section 8.1), and secure-json-parse would skip it.
  if (text.startsWith('\ufeff')) {
    throw new CodedError('VALIDATION_ERROR', 'The body begins with a byte order mark.')
  }
  const value = parse(text)
  if (countKeysInText(text) !== countKeysInValue(value)) {
    throw new CodedError('VALIDATION_ERROR', 'The body names a key twice in one object.')
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

function parse(text: string): unknown {
  try {
    return secureJson.parse(text)
  } catch {
    throw new CodedError('VALIDATION_ERROR', 'The body is not JSON.')
  }
}

/** In text that is known to be JSON, a string before a colon is a key, and a colon outside strings follows each. */
function countKeysInText(text: string): number {
  let keys = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x22) inString = !inString
    else if (inString && c === 0x5c) i += 1
    else if (!inString && c === 0x3a) keys += 1
  }
  return keys
}

/** Walks without recursion: 16 KiB can be nested 8,000 deep. */
function countKeysInValue(value: unknown): number {
  let keys = 0
  const pending = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null) continue
    const children = Object.values(next)
    if (!Array.isArray(next)) keys += children.length
    for (const child of children) pending.push(child)
  }
  return keys
}
