/**
 * A network perspective: what one DNS resolver says, and what answers at the addresses that it gives. Deceiving several,
 * from different operators, is harder than deceiving one.
 */
export interface Perspective {
  /** The address of its resolver. */
  readonly name: string
  /**
   * The TXT records of a name, the strings of each joined (RFC 7208 section 3.3), CNAMEs followed.
   * @throws ProofAbsent if the name or the record type does not exist, Unreachable if that cannot be found out
   */
  txt(name: string): Promise<readonly string[]>
  /**
   * Fetches a page of the public internet: https on port 443, a host name instead of an address, public addresses only,
   * redirects within the same host only, uncompressed, at most 64 KiB and 10 seconds.
   * @param accept the value of the `Accept` header
   * @returns the page, whatever its status
   * @throws ProofAbsent if the host has no address, Unreachable if it does not answer under these rules
   */
  get(url: URL, accept: string): Promise<Page>
}

export interface Page {
  readonly status: number
  /** Lower-case, without parameters; empty if there is none. */
  readonly mediaType: string
  /** Decoded as UTF-8. */
  readonly text: string
}

/** What was asked for does not exist, according to an authoritative answer. The message is a sentence for the owner. */
export class ProofAbsent extends Error {
  override readonly name = 'ProofAbsent'
}

/** Whether it exists is unknown: a time-out, a server error, an address that is not public. A sentence for the owner. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}
