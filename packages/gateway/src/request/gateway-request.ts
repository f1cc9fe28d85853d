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
  address(): string | null
  /** Whether it is a CORS preflight. */
  readonly preflight: boolean
  /** Whether it has a `Signature` or `Signature-Input` header. */
  readonly signed: boolean
  /** The request as it was received. Called only if it is signed, or refused for want of a signature. */
  raw(): RawRequest
  /** Reads the body of a signed request. Null: it is in `raw`, or not visible here. */
  readonly readBody: BodyReader | null
}
