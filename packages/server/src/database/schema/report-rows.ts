import type { ReportCategory } from '@countersign/protocol'

/* The rows of reports. Times are milliseconds since the Unix epoch. */

/** A report about an agent, by somebody who has requests that it signed. */
export interface ReportRow {
  /** `rp_` and 22 base58 characters. */
  id: string
  tail: string
  /** The owner of the agent when the report arrived: a later one does not see it. */
  owner_id: number
  /** That the requests were signed for. */
  host: string
  category: ReportCategory
  /** Null: withdrawn. */
  text: string | null
  contact: string | null
  /** SHA-256 of the token with which the answer is read. */
  token_hash: Uint8Array
  /** `closed`: withdrawn, or closed by the operator. */
  state: 'open' | 'answered' | 'closed'
  received_at: number
  answer: string | null
  answered_at: number | null
}

/** A request in a report. */
export interface ReportEvidenceRow {
  report_id: string
  /** From 0. */
  position: number
  /** SHA-256 of the 64 bytes of the signature. */
  signature_hash: Uint8Array
  method: string
  /** Without the query. */
  path: string
  /** When it was signed, by the clock of the signer. */
  created: number
  /** The JWK thumbprint of the key of the agent. */
  keyid: string
  /** That of the key which has signed, if the agent delegated to it. */
  delegate: string | null
  /** JSON: `Evidence`. Null 90 days after the report, and once it is withdrawn. */
  request: string | null
}
