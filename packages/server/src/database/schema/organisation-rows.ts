import type { Role, TransferState } from '@countersign/protocol'

/* The rows of organisations. Times are milliseconds since the Unix epoch. */

export interface MembershipRow {
  /** Public: `mb_` and 12 base58 characters. */
  id: string
  /** The owner that is the organisation. */
  org_id: number
  /** The member's own account. Null once it is erased. */
  person_id: number | null
  role: Role
  /** Since when the member has the role, or a higher one. */
  role_since: number
  /** `sso`: each sign-in at the organisation's identity provider sets the role. */
  source: 'manual' | 'sso'
  created_at: number
  /** Null: a member. Ended memberships stay, since actions and agents refer to them. */
  ended_at: number | null
  end_reason: string | null
}

/** An invitation is no secret: only the account that has its verified address or its username can accept it. */
export interface InvitationRow {
  id: string
  org_id: number
  email: string | null
  username: string | null
  role: Role
  /** The membership of who invited. */
  invited_by: string
  created_at: number
  expires_at: number
}

export interface OrganisationSettingsRow {
  org_id: number
  /** After how many days agents without a responsible person are suspended. Null: never. Without a row: 14. */
  suspend_after_days: number | null
}

/** The domain that an organisation has proven or will prove. Its verification is among `identity_verifications`. */
export interface OrganisationDomainRow {
  org_id: number
  domain: string
  /** To be published: 22 base58 characters. */
  token: string
  token_expires_at: number
  proven_at: number | null
  /** The token that was found. */
  proven_token: string | null
  /** How it was found: `dns` or `file`. */
  proven_by: string | null
  /** When the domain is checked next; null: not at all. */
  due_at: number | null
  leased_by: string | null
  held_until: number
}

/** An organisation's OpenID provider. */
export interface SsoConnectionRow {
  id: string
  org_id: number
  issuer: string
  client_id: string
  /** See `seal`; null: a public client. */
  sealed_secret: Uint8Array | null
  group_claim: string
  /** JSON: roles by the id of a group. */
  role_map: string
  subject_claim: 'sub' | 'oid'
  created_at: number
  updated_at: number
}

export interface ScimTokenRow {
  /** SHA-256. */
  hash: Uint8Array
  id: string
  org_id: number
  /** The membership of who created it. */
  created_by: string
  created_at: number
  expires_at: number
  last_used_at: number | null
}

export interface ScimUserRow {
  /** Public: `su_` and 12 base58 characters. */
  id: string
  org_id: number
  external_id: string | null
  user_name: string
  /** In lower case: unique within an organisation. */
  user_name_folded: string
  display_name: string | null
  active: 0 | 1
  /** The account that has signed in as this user. Null: none yet. */
  person_id: number | null
  created_at: number
  updated_at: number
}

export interface TransferRow {
  id: string
  from_owner: number
  to_owner: number
  state: TransferState
  /** The membership of who started it; null: a person, for their own account. */
  started_by: string | null
  accepted_by: string | null
  /** The error code, if `state` is `failed`. */
  failure: string | null
  created_at: number
  /** Until when it can be accepted. */
  expires_at: number
  accepted_at: number | null
  effective_at: number | null
  ended_at: number | null
}

export interface TransferAgentRow {
  transfer_id: string
  tail: string
  is_open: 0 | 1
}

/** A request of a member, or of an API key that a member created, that changed something. */
export interface MemberActionRow {
  id: number
  org_id: number
  membership: string
  /** The `operationId` of the API. */
  operation: string
  /** The request's id. */
  request: string
  api_key: string | null
  at: number
}
