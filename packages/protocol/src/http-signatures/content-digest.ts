import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64 } from '../encoding.ts'
import { isInnerList, parseDictionary, StructuredFieldError } from './structured-fields.ts'

/** The field `Content-Digest` (RFC 9530) with SHA-256. @param body the bytes on the wire, after any content coding */
export function contentDigest(body: Uint8Array): string {
  return `sha-256=:${encodeBase64(sha256(body))}:`
}

/**
 * The SHA-256 digest in a `Content-Digest` field; digests by other algorithms are ignored.
 * @returns 32 bytes
 * @throws StructuredFieldError if the field is malformed or has no `sha-256`
 */
export function parseContentDigest(field: string): Uint8Array {
  const member = parseDictionary(field).get('sha-256')
  if (member !== undefined && !isInnerList(member) && member.params.size === 0) {
    const { item } = member
    if (item.type === 'bytes' && item.value.length === 32) return item.value
  }
  throw new StructuredFieldError('Content-Digest has no sha-256 digest')
}

/**
 * Whether a body has the SHA-256 digest of a `Content-Digest` field.
 * @throws StructuredFieldError if the field is malformed or has no `sha-256`
 */
export function matchesContentDigest(field: string, body: Uint8Array): boolean {
  const expected = parseContentDigest(field)
  return sha256(body).every((byte, i) => byte === expected[i])
}
