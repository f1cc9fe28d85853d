/**
 * The public types of keys and of the feed. Their source is @countersign/protocol, which is not published: key-set.ts and feed.ts do
 * not compile if they differ.
 */

/** A public key of an issuer (RFC 7517): Ed25519 (RFC 8037), or P-256 for ES256. Coordinates are base64url. */
export type IssuerJwk =
  | {
      readonly kty: 'OKP'
      readonly crv: 'Ed25519'
      readonly x: string
      /** The JWK thumbprint (RFC 7638). */
      readonly kid: string
      readonly use: 'sig'
    }
  | {
      readonly kty: 'EC'
      readonly crv: 'P-256'
      readonly x: string
      readonly y: string
      /** The JWK thumbprint (RFC 7638). */
      readonly kid: string
      readonly use: 'sig'
    }

/** A change of an entry of a status list. */
export interface FeedChange {
  /** Its number: from 1 in each epoch, without gaps. */
  readonly n: number
  /** The number of the status list. */
  readonly list: number
  readonly idx: number
  /** 0 valid, 1 invalid, 2 suspended. */
  readonly status: 0 | 1 | 2
}

/** A place in the feed of an issuer: what refers to it is of then, or newer. */
export interface FeedPosition {
  /** Another one after events were lost. Numbers of two epochs cannot be compared. */
  readonly epoch: string
  /** Of the newest change; 0: there was none. */
  readonly n: number
}
