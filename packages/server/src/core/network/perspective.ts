/**
 * One view of the outside world: what a resolver of DNS says, and what answers at the addresses that it gives. Several
 * of them, from different operators, are harder to deceive than one.
 */
export interface Perspective {
  /** The address of its resolver. */
  readonly name: string
  /**
   * The TXT records of a name, the strings of each joined (RFC 7208 section 3.3), CNAMEs followed.
   * @throws ProofAbsent where the name or the type does not exist, Unreachable where nobody knows
   */
  txt(name: string): Promise<readonly string[]>
  /**
   * Fetches a page of the public internet: https on 443, no literal addresses, public addresses only, redirects within
   * the same host only, 64 KiB and 10 seconds at most, nothing compressed.
   * @param accept the media types that are asked for, as `Accept` has them
   * @returns the page, whatever its status
   * @throws ProofAbsent where the host has no address, Unreachable where it does not answer as it should
   */
  get(url: URL, accept: string): Promise<Page>
}

export interface Page {
  readonly status: number
  /** Lower-case, without parameters; empty where there is none. */
  readonly mediaType: string
  /** Read as UTF-8. */
  readonly text: string
}

/** What was asked for does not exist, as the place itself says. The message is a sentence for people. */
export class ProofAbsent extends Error {
  override readonly name = 'ProofAbsent'
}

/** Nobody knows: a time-out, a server's own failure, an address that is not public. A sentence for people. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}
