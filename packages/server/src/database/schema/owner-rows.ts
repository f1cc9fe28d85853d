import type { Assurance } from '@countersign/protocol'

/* The rows of owners. Times are milliseconds since the Unix epoch. Keys and hashes are raw bytes. */

export interface OwnerRow {
  id: number
  /** `member`: an account that signs in through an organisation only, with the username `member:<id>`. */
  kind: 'person' | 'organisation' | 'member'
  /** `org_` and 12 base58 characters, which stays if the username changes; null unless it is an organisation. */
  public_id: string | null
  username: string
  display_name: string
  created_at: number
  /** See `usernameSkeleton`: usernames that look alike have the same one. */
  username_skeleton: string | null
  /** The user handle of WebAuthn section 5.4.3: random, base64url. Null before the first passkey. */
  user_handle: string | null
  /** Set only in the row of deleted owners, to which their revoked agents refer. */
  deleted_at: number | null
  /** Since when the operator has suspended the owner; null: not suspended. */
  suspended_at: number | null
  /** A machine-readable word, or null. */
  suspension_reason: string | null
  /** When the username or display name last changed. Null: never. */
  name_changed_at: number | null
  /** When the owner first copied the code of a badge. Null: never. */
  badge_copied_at: number | null
  /** Since when the owner has hidden the checklist of first steps. Null: it is shown. */
  onboarding_hidden_at: number | null
}

export interface IdentityVerificationRow {
  owner_id: number
  provider: string
  /** HMAC-SHA256(pepper, provider, issuer, subject). Identifies a human without storing a name. */
  subject_hash: Uint8Array
  pepper_id: string
  assurance: Assurance
  country: string | null
  verified_at: number
  expires_at: number | null
  /** The name that the provider verified. Null unless the owner chose to publish it. */
  published_name: string | null
}

/** A username that was given up. Until `available_at`, only its previous owner can take it or a lookalike. */
export interface ReleasedUsernameRow {
  /** Keyed hash of the namespace and the skeleton, so that names of deleted accounts are not stored. */
  hash: Uint8Array
  /** Keyed hash of the namespace and the username itself. */
  exact_hash: Uint8Array
  /** The previous owner; of an agent's username, the owner of the agent. 0: deleted since. */
  owner_id: number
  available_at: number
}
