import {
  agentHeaders,
  componentIdentifier,
  strictComponents,
  WEB_BOT_AUTH_TAG,
} from './components.ts'
import { headerFields, requestHasContent } from './raw-request.ts'
import { MAX_FIELD_BYTES } from './signature-input.ts'
import type { RawRequest } from './signed-request-types.ts'
import {
  type Parameters,
  parseDictionary,
  StructuredFieldError,
  serializeString,
} from './structured-fields.ts'

/** A nonce of a request's signature: at least 16 random bytes in base64url. */
export const NONCE = /^[A-Za-z0-9_-]{22,128}$/

/**
 * The value of `Accept-Signature` (RFC 9421 section 5.1) that asks for a signature of the profile `strict` on a request.
 * @param idHeader the deployment's identification header
 * @param nonce to be signed with; null: the signer chooses one
 */
export function acceptSignatureHeader(
  request: RawRequest,
  idHeader: string,
  nonce: string | null,
): string {
  const { method, target } = request
  const fields = headerFields(request.headers)
  const hasContent = requestHasContent(request, fields)
  const parts = { method, fields, hasQuery: target.includes('?'), hasContent }
  const agent = { name: 'signature-agent', key: 'sig1' }
  const components = strictComponents(parts, agent, agentHeaders(idHeader))
  const identifiers = components.map(componentIdentifier).join(' ')
  const withNonce = nonce === null ? '' : `;nonce=${serializeString(nonce)}`
  return `sig1=(${identifiers});created;expires${withNonce};tag="${WEB_BOT_AUTH_TAG}"`
}

/**
 * The nonce with which a response asks to sign its request once more. Nothing else of the field counts: what a signature covers is the
 * signer's decision.
 * @param status of the response
 * @param field the value of `Accept-Signature`; null without one
 * @returns null if the status is not 401 or 503, or not exactly one member is for Web Bot Auth, or it names no nonce that can be signed
 */
export function challengeNonce(status: number, field: string | null): string | null {
  if (status !== 401 && status !== 503) return null
  const nonce = requestedSignature(field)?.get('nonce')
  return nonce?.type === 'string' && NONCE.test(nonce.value) ? nonce.value : null
}

/**
 * Whether a response asks to sign its request again later, after `Retry-After`: a 503 whose `Accept-Signature` has exactly one member for
 * Web Bot Auth, without a nonce. Nothing was done then.
 */
export function asksToSignLater(status: number, field: string | null): boolean {
  const requested = status === 503 ? requestedSignature(field) : null
  return requested !== null && !requested.has('nonce')
}

/** The parameters of the only member of `Accept-Signature` for Web Bot Auth. */
function requestedSignature(field: string | null): Parameters | null {
  if (field === null || field.length > MAX_FIELD_BYTES) return null
  try {
    const [member, ...others] = [...parseDictionary(field).values()].filter(({ params }) => {
      const tag = params.get('tag')
      return tag?.type === 'string' && tag.value === WEB_BOT_AUTH_TAG
    })
    return member === undefined || others.length > 0 ? null : member.params
  } catch (error) {
    if (error instanceof StructuredFieldError) return null
    throw error
  }
}
