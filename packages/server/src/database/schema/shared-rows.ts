/* Rows of no room: events, jobs, counters. Times are milliseconds since the Unix epoch. Keys and hashes are raw bytes. */

export interface EventRow {
  seq: number
  at: number
  type: string
  tail: string | null
  /** The owner of the agents that the event concerns. Internal: never published. */
  owner_id: number | null
  /** A JSON object of public data. */
  payload: string
}

export interface JobRow {
  id: string
  kind: string
  subject: string
  /** When the next attempt is due. */
  run_at: number
  attempts: number
  /** When the first attempt was due, if it failed. Null before that. */
  due_since: number | null
}

/** A rate limit that is partly used. A row is deleted once its limit is whole again. */
export interface RateCountRow {
  /** HMAC of what is counted, so that no address can be read from it. */
  key: Uint8Array
  /** When the limit is whole again, in milliseconds since the Unix epoch, with fractions. */
  whole_at: number
  /** 1: the last request was allowed. */
  taken: number
}
