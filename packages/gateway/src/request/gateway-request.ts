import type { RawRequest } from '@countersign/protocol'

/** Reads the body of a request. */
export type BodyReader = () => Promise<Uint8Array | null | 'too-large'>

/** The parts of a request that a decision depends on. */
export interface GatewayRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** The identification header: null if there is none, joined with commas if it is repeated. */
  readonly identification: string | null
  readonly authorization: string | null
  /** The client's address, null if unknown. Called only if it is needed, for rate limits and `onDecision`. */
  readonly address: () => string | null
  /** Whether it is a CORS preflight. */
  readonly preflight: boolean
  /** Whether it has a `Signature` or `Signature-Input` header. */
  readonly signed: boolean
  /** The request as it was received. Called only if it is signed, or refused for want of a signature. */
  readonly raw: () => RawRequest
  /** Reads the body of a signed request. Null: it is in `raw`, or not visible here. */
  readonly readBody: BodyReader | null
}

/** Whether a request has a signature (RFC 9421), readable or not. @param field a header by its name in lower case */
export function isSigned(field: (lower: string) => string | null): boolean {
  return field('signature-input') !== null || field('signature') !== null
}

/**
 * Whether a request is a CORS preflight (Fetch standard, section 4.9).
 * @param field a header by its name in lower case
 */
export function isPreflight(
  method: string | undefined,
  field: (lower: string) => string | null | undefined,
): boolean {
  return method === 'OPTIONS' && !!field('origin') && !!field('access-control-request-method')
}
