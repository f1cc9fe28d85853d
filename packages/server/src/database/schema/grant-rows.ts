/* The rows of grants. Times are milliseconds since the Unix epoch. */

/** A grant issuer. A deleted one keeps its row, so that its key set stays empty and its id is never used again. */
export interface GrantIssuerRow {
  /** 128 random bits in hexadecimal. Its keys are derived from it (`secrets/issuer-keys/key-pair.ts`). */
  id: string
  /** Null once the owner's account is deleted. */
  owner_id: number | null
  /** The owner's own label; empty once it is deleted. */
  name: string
  /** The membership of who created it; null: a person, for their own account. */
  created_by: string | null
  created_at: number
  deleted_at: number | null
}

/** Which issuer signs the grants of an agent. */
export interface GrantAssignmentRow {
  tail: string
  issuer_id: string
  assigned_at: number
}

/** An authorization server for which an agent has got grants. */
export interface GrantUseRow {
  tail: string
  /** Its issuer identifier. */
  audience: string
  first_at: number
  last_at: number
  grants: number
}

/** The nonce of a signed request to this service. */
export interface UsedNonceRow {
  /** SHA-256 of key and nonce: base64url. */
  hash: string
  /** The JWK thumbprint of the key. */
  keyid: string
  expires_at: number
}
