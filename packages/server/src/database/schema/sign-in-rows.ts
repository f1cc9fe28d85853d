import type { SignInMethod } from '@countersign/protocol'

export interface PasskeyRow {
  /** base64url, as in WebAuthn's JSON. */
  credential_id: string
  owner_id: number
  /** COSE_Key, CBOR. */
  public_key: Uint8Array
  counter: number
  /** JSON: a list of WebAuthn transports. */
  transports: string
  backed_up: 0 | 1
  name: string
  created_at: number
  last_used_at: number | null
}

export interface RecoveryCodeRow {
  hash: Uint8Array
  owner_id: number
  created_at: number
}

/** An account at an identity provider that signs an owner in. */
export interface SignInIdentityRow {
  provider: string
  subject_hash: Uint8Array
  owner_id: number
  created_at: number
}

export interface SignInLinkRow {
  hash: Uint8Array
  owner_id: number
  expires_at: number
}

export interface SessionRow {
  /** SHA-256 of the cookie's value. */
  hash: Uint8Array
  /** Public identifier, shown on the account page. */
  id: string
  owner_id: number
  method: SignInMethod
  browser: string
  signed_in_at: number
  last_seen_at: number
  expires_at: number
  /** The credential id of the passkey that started it. Null for other methods, and for sessions of older releases. */
  passkey_id: string | null
  /** The id of the provider that it was started with. Null for other methods, and for sessions of older releases. */
  provider: string | null
  /** The organisation whose identity provider started it: it acts for no other owner. Null: not limited. */
  limited_to: number | null
}

export interface ApiKeyRow {
  /** SHA-256. */
  hash: Uint8Array
  id: string
  owner_id: number
  name: string
  scopes: string
  last_four: string
  /** The membership of who created it; null: a person, for their own account. */
  created_by: string | null
  created_at: number
  expires_at: number
  last_used_at: number | null
}

/** The state of a browser flow, such as a sign-in at a provider. Used once, in the browser that began it. */
export interface FlowRow {
  /** SHA-256 of the cookie's value. */
  hash: Uint8Array
  kind: string
  owner_id: number | null
  provider: string | null
  /** The identifier that the provider's webhook sends. */
  reference: string | null
  /** JSON. */
  state: string
  expires_at: number
}
