import { Resolver } from 'node:dns/promises'
import { untilAborted } from '../../base/timeout.ts'
import { ResponseTooLargeError } from './bounded-fetch.ts'
import { ProofAbsent, Unreachable } from './perspective.ts'

export interface DnsTimeouts {
  /** Of one try. */
  readonly timeoutMs: number
  readonly tries: number
}

const TIMEOUTS: DnsTimeouts = { timeoutMs: 2000, tries: 2 }

/** A longer chain of CNAMEs is treated as a loop. */
const MAX_CNAMES = 8

/** Predicates of error messages, by the error codes of node:dns. */
const FAILURES: Readonly<Record<string, string>> = {
  ESERVFAIL: 'fails to look it up (SERVFAIL)',
  EREFUSED: 'refuses to look it up (REFUSED)',
  ETIMEOUT: 'does not answer in time',
  ECONNREFUSED: 'cannot be reached',
  ECANCELLED: 'was cancelled',
  EBADNAME: 'was not asked, because the name is not valid in the DNS',
}

/** Queries one DNS server. Caches nothing, so that a record that an owner has just changed is seen at once. */
export class DnsClient {
  readonly #resolver: Resolver
  readonly #server: string

  /** @param server an address, with a port if it is not 53: `[2001:db8::1]:5353` */
  constructor(server: string, { timeoutMs, tries }: DnsTimeouts = TIMEOUTS) {
    this.#resolver = new Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries })
    this.#resolver.setServers([server])
    this.#server = server
  }

  /**
   * The TXT records of a name, the strings of each joined (RFC 7208 section 3.3).
   * @throws ProofAbsent if the name or the record type does not exist, Unreachable if the server does not say
   */
  async txt(name: string): Promise<readonly string[]> {
    const records = await this.#records(name, 'TXT record', (at) => this.#resolver.resolveTxt(at))
    return records.map((strings) => strings.join(''))
  }

  /**
   * The addresses of a host, IPv4 before IPv6. One failed query is ignored if the other family has addresses.
   * @throws ProofAbsent if it has neither, Unreachable if that cannot be found out
   */
  async addresses(host: string): Promise<readonly string[]> {
    const results = await Promise.allSettled([
      this.#records(host, 'address', (at) => this.#resolver.resolve4(at)),
      this.#records(host, 'address', (at) => this.#resolver.resolve6(at)),
    ])
    const found = results.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    if (found.length > 0) return found
    const errors = results.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    throw errors.find((error) => !(error instanceof ProofAbsent)) ?? errors[0]
  }

  close(): void {
    this.#resolver.cancel()
  }

  /**
   * Follows CNAMEs itself if the server did not. node:dns returns an empty list for a CNAME without its target, which means
   * either that the target has no such record, or that the server does not recurse; a query for the target tells which.
   */
  async #records<T>(
    name: string,
    recordType: string,
    query: (at: string) => Promise<T[]>,
  ): Promise<readonly T[]> {
    let at = name
    for (let step = 0; step < MAX_CNAMES; step++) {
      const subject = at === name ? name : `${at}, to which ${name} leads,`
      const records = await this.#withErrors(subject, recordType, () => query(at))
      if (records.length > 0) return records
      const [target] = await this.#withErrors(subject, recordType, () =>
        this.#resolver.resolveCname(at),
      )
      if (target === undefined) break
      at = target
    }
    throw new Unreachable(`${name} has an endless chain of CNAME records.`)
  }

  /** Turns error codes of node:dns into ProofAbsent or Unreachable with a sentence about `subject`. */
  async #withErrors<T>(subject: string, recordType: string, query: () => Promise<T>): Promise<T> {
    try {
      return await query()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (typeof code !== 'string') throw error
      if (code === 'ENOTFOUND') throw new ProofAbsent(`${subject} does not exist in the DNS.`)
      if (code === 'ENODATA') throw new ProofAbsent(`${subject} has no ${recordType} in the DNS.`)
      const reason = FAILURES[code] ?? `fails to look it up (${code})`
      throw new Unreachable(`${subject}: the DNS server ${this.#server} ${reason}.`)
    }
  }
}

/**
 * Waits for network work until `signal` aborts, and turns what fails into a sentence for the owner.
 * @param host what was asked, for the message
 * @throws ProofAbsent and Unreachable; errors that are not of the network, which are bugs, as they are
 */
export async function withNetworkErrors<T>(
  host: string,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  try {
    return await untilAborted(work, signal)
  } catch (error) {
    if (error instanceof ProofAbsent || error instanceof Unreachable) throw error
    throw new Unreachable(describe(error, host))
  }
}

/** By the error codes of node:net, node:tls and undici. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'closes the connection',
  EPIPE: 'closes the connection',
  UND_ERR_SOCKET: 'closes the connection',
  ETIMEDOUT: 'does not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'does not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'does not answer in time',
  UND_ERR_BODY_TIMEOUT: 'does not answer in time',
  UND_ERR_HEADERS_OVERFLOW: 'sends headers that are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  CERT_REVOKED: 'has a revoked certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT: 'has a certificate of an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an untrusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an untrusted authority',
}

/** @throws the error itself if it is not an error of the network */
function describe(error: unknown, host: string): string {
  if (error instanceof ResponseTooLargeError) {
    return `${host} answers with more than ${error.limit / 1024} KiB.`
  }
  const { name, code } = error as { name?: unknown; code?: unknown }
  if (name === 'TimeoutError') return `${host} does not answer in time.`
  if (name === 'AbortError') return `The request to ${host} was cancelled.`
  // Checked by name: its code is llhttp's (HPE_…), and sometimes missing.
  if (name === 'HTTPParserError') return `${host} does not respond with HTTP.`
  if (typeof code !== 'string') throw error
  if (/^ERR_(?:SSL|TLS)_/.test(code) && REASONS[code] === undefined) {
    return `The TLS connection to ${host} failed.`
  }
  return `${host} ${REASONS[code] ?? `cannot be reached (${code})`}.`
}
