/* The rows of approvals. Times are milliseconds since the Unix epoch. Keys and signatures are raw bytes, digests SHA-256 in base64url. */

/** A request that an agent has asked its owner to approve. */
export interface ApprovalRow {
  /** `ap_` and 128 random bits in base64url: a client that has it can read the state. */
  id: string
  /** The number of its event. */
  seq: number
  tail: string
  /** The owner when the agent asked. */
  owner_id: number
  /** The key with which the agent asked. */
  key_sequence: number
  /** The service's address when the agent asked, which the statement names. */
  service: string
  method: string
  url: string
  /** Of `url`. */
  origin: string
  content_type: string | null
  /** Of the request and the message. */
  request_digest: string
  /** Null: there is none, or it was deleted 30 days after the end. */
  body: string | null
  body_digest: string | null
  /** What the agent says; as `body`. */
  message: string | null
  message_digest: string | null
  /** 32 random bytes, base64url. */
  salt: string
  valid_seconds: number
  /** That the time is over, or the agent may not ask any more, follows from other columns until the next change of the row. */
  state: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled'
  created_at: number
  /** Until when the owner can decide. */
  expires_at: number
  decided_at: number | null
  /** The membership of who decided; null: a person, for their own account. */
  decided_by: string | null
  /** The COSE key of the passkey that signed, so that the evidence verifies without the account. */
  passkey_key: Uint8Array | null
  client_data: Uint8Array | null
  authenticator_data: Uint8Array | null
  signature: Uint8Array | null
  /** The mandate that approved it, whose assertion the row has; null: none did. */
  mandate_id: string | null
  /** What it counts under the mandate; null with `mandate_id`. */
  hundredths: number | null
}

/** A rule by which the service approves requests of an agent, signed by a passkey of its owner. */
export interface MandateRow {
  /** `md_` and the first 128 bits of the challenge in base64url: the same statement makes one mandate. */
  id: string
  /** The number of mandates of the owner before it, and one: its place in their list. */
  seq: number
  tail: string
  owner_id: number
  /** The key of the agent when it was made. */
  key_sequence: number
  /** The approval that it was made from, which may be deleted before it. */
  approval_id: string
  /** What the passkey signed (`mandateStatement`), with all terms. */
  statement: string
  created_at: number
  /** The membership of who made it; null: a person, for their own account. */
  created_by: string | null
  expires_at: number
  /** When the owner ended it, or turned asking off or on; other ends follow from the agent and its owner. */
  ended_at: number | null
  passkey_key: Uint8Array
  client_data: Uint8Array
  authenticator_data: Uint8Array
  signature: Uint8Array
}
