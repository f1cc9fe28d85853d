/* The rows of approvals. Times are milliseconds since the Unix epoch. Keys and signatures are raw bytes, digests SHA-256 in base64url. */

/** A request that an agent has asked its owner to approve. */
export interface ApprovalRow {
  /** `ap_` and 128 random bits in base64url: whoever has it can read the state. */
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
}
