/* The rows of notifications, e-mail and activities of accounts. Times are milliseconds since the Unix epoch. */

/** What an owner was told. One row for each (owner, kind, subject). */
export interface NotificationRow {
  /** Derived from owner, kind and subject. */
  id: string
  owner_id: number
  /** One of `NOTIFICATION_KINDS`, or of a newer release. */
  kind: string
  /** What it is about, such as an agent's tail, with what tells it from earlier ones. */
  subject: string
  /** JSON: the data of the text. */
  details: string
  created_at: number
  read_at: number | null
}

/** An e-mail address of an owner. Several owners may have the same one. */
export interface EmailAddressRow {
  id: string
  owner_id: number
  address: string
  added_at: number
  /** Null: not verified, so it gets no notifications. */
  verified_at: number | null
  /** SHA-256 of the token in the last verification link. Null once it was used. */
  token_hash: Uint8Array | null
  token_expires_at: number | null
}

/** Whether an owner wants a kind of notification by e-mail. Without a row they do. */
export interface EmailPreferenceRow {
  owner_id: number
  kind: string
  enabled: 0 | 1
}

/** An e-mail to send. The row is deleted when it was sent. */
export interface EmailOutboxRow {
  /** Part of its Message-ID. */
  id: string
  owner_id: number
  /** Null: the e-mail that verifies the address. */
  notification_id: string | null
  address_id: string
  /** Stays if the owner removes the address, so that security notifications still reach it. */
  address: string
  created_at: number
  /** When the next attempt is due. Null: it was delivered to the development outbox. */
  due_at: number | null
  /** Attempts that the SMTP server has not accepted. */
  attempts: number
  /** The attempt in progress. */
  leased_by: string | null
  held_until: number
  /** Attempts after which nobody knows whether the SMTP server has accepted the e-mail. */
  interruptions: number
}

/** Something that an owner, or somebody in their name, did to the account. Unlike an event, it is deleted with the account. */
export interface AccountActivityRow {
  id: number
  owner_id: number
  /** The last event before it, which decides its place among the owner's events. */
  after_seq: number
  /** Milliseconds since the Unix epoch. */
  at: number
  /** An `AccountActivityType`, or one of a newer release. */
  type: string
  /** JSON. */
  details: string
}
