/* The rows of the witness of other logs. Times are milliseconds since the Unix epoch, hashes and keys raw bytes. */

/** A key of the witness. The one with the highest number is current. */
export interface WitnessKeyRow {
  number: number
  /** Never derived again: a changed BASE_URL does not rename a witness. */
  name: string
  public_key: Uint8Array
  created_at: number
  /** Since when no node signs with it, because one has found that the database is behind what it has cosigned. Null: it signs. */
  halted_at: number | null
}

/** The newest checkpoint of a log that was cosigned. */
export interface WitnessedLogRow {
  origin: string
  size: number
  root: Uint8Array
  /** The note with the signature of the log and the cosignature. Null: the current key has not cosigned this log. */
  checkpoint: string | null
  cosigned_at: number
}
