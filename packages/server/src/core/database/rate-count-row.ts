/** A quota that is not whole. */
export interface RateCountRow {
  /** HMAC of what is counted: no address can be read from it. */
  key: Uint8Array
  /** When it will be, in milliseconds since 1970. */
  whole_at: number
  /** 1: the last who asked got one. */
  taken: number
}
