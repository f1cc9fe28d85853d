import type {
  WebhookDeliveryState,
  WebhookDisabledReason,
  WebhookFormat,
  WebhookState,
} from '@countersign/protocol'

/* The rows of webhooks. Times are milliseconds since the Unix epoch. */

/** Where events are delivered to. */
export interface WebhookEndpointRow {
  id: string
  /** Null: the operator's endpoint, which gets the events of all agents. */
  owner_id: number | null
  url: string
  /** The id of the API key that created it or gave it its URL. Null: a signed-in owner, or the operator. */
  created_by_key: string | null
  /** The membership of who created it; null: a person, for their own account. */
  created_by: string | null
  format: WebhookFormat
  /** The `aud` of Security Event Tokens. Null: the URL. */
  audience: string | null
  /** The value of the header Authorization, encrypted (`webhooks/signatures.ts`). */
  sealed_authorization: Uint8Array | null
  /** The types of events, separated by spaces. Null: all. */
  types: string | null
  state: WebhookState
  disabled_reason: WebhookDisabledReason | null
  /** Random. The secret is derived from it (`webhooks/signatures.ts`), so that the database holds no secret. */
  secret_salt: string
  /** That of the secret before, which still signs until `previous_until`. */
  previous_salt: string | null
  previous_until: number | null
  created_at: number
  /** Only events after this sequence number are delivered. */
  after_seq: number
  /** When the next attempt is due. In the past if none has failed. */
  due_at: number
  /** Consecutive failed attempts. */
  failures: number
  /** When the first of them failed. */
  failing_since: number | null
  delivered_at: number | null
  /** The turn of a node that is delivering. */
  leased_by: string | null
  held_until: number
}

/** A delivery, both in the queue of its endpoint and in the log. */
export interface WebhookDeliveryRow {
  /** The `webhook-id`. */
  id: string
  endpoint_id: string
  /** The sequence number of the event. Null: a test. */
  seq: number | null
  type: string
  tail: string | null
  /** When the event happened. */
  at: number
  state: WebhookDeliveryState
  created_at: number
  attempts: number
  attempted_at: number | null
  /** The HTTP status of the last response. Null: none. */
  status: number | null
  /** Why the last attempt failed, in a sentence. Null: it did not. */
  problem: string | null
  duration_ms: number | null
}
