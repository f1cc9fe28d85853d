import { Resolver } from 'node:dns/promises'
import { ProofAbsent, Unreachable } from './perspective.ts'

/** How long one try takes at most, and how many there are. */
export interface DnsPatience {
  readonly timeoutMs: number
  readonly tries: number
}

const PATIENCE: DnsPatience = { timeoutMs: 2000, tries: 2 }

/** Longer chains are loops. */
const LONGEST_CHAIN = 8

/** Why there is no answer, for people. The codes are those of node:dns. */
const FAILURES: Readonly<Record<string, string>> = {
  ESERVFAIL: 'fails to look it up (SERVFAIL)',
  EREFUSED: 'refuses to look it up (REFUSED)',
  ETIMEOUT: 'does not answer in time',
  ECONNREFUSED: 'cannot be reached',
  ECANCELLED: 'was not waited for',
  EBADNAME: 'is not asked, since it is no name that the DNS can hold',
}

/**
 * One DNS server and what it says. Nothing is kept between questions: an owner who has just changed a record is not
 * told what it was.
 */
export class DnsView {
  readonly #resolver: Resolver
  readonly #server: string

  /** @param server an address, with a port where it is not 53: `[2001:db8::1]:5353` */
  constructor(server: string, { timeoutMs, tries }: DnsPatience = PATIENCE) {
    this.#resolver = new Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries })
    this.#resolver.setServers([server])
    this.#server = server
  }

  /**
   * The TXT records of a name, the strings of each joined (RFC 7208 section 3.3).
   * @throws ProofAbsent, Unreachable
   */
  async txt(name: string): Promise<readonly string[]> {
    const records = await this.#records(name, 'TXT record', (at) => this.#resolver.resolveTxt(at))
    return records.map((strings) => strings.join(''))
  }

  /**
   * The addresses of a host, IPv4 before IPv6; one of the two kinds is enough.
   * @throws ProofAbsent where it has neither, Unreachable where nobody knows
   */
  async addresses(host: string): Promise<readonly string[]> {
    const views = await Promise.allSettled([
      this.#records(host, 'address', (at) => this.#resolver.resolve4(at)),
      this.#records(host, 'address', (at) => this.#resolver.resolve6(at)),
    ])
    const found = views.flatMap((view) => (view.status === 'fulfilled' ? view.value : []))
    if (found.length > 0) return found
    const reasons = views.flatMap((view) => (view.status === 'rejected' ? [view.reason] : []))
    throw reasons.find((reason) => !(reason instanceof ProofAbsent)) ?? reasons[0]
  }

  close(): void {
    this.#resolver.cancel()
  }

  /**
   * Node answers with an empty list where a CNAME comes without its target, be it that the target has no such record or
   * that the server leaves the asking to us. Asking for the target tells the two apart.
   */
  async #records<T>(
    name: string,
    wanted: string,
    ask: (at: string) => Promise<T[]>,
  ): Promise<readonly T[]> {
    let at = name
    for (let step = 0; step < LONGEST_CHAIN; step++) {
      const words = at === name ? name : `${at}, to which ${name} leads,`
      const records = await this.#translated(words, wanted, () => ask(at))
      if (records.length > 0) return records
      const [target] = await this.#translated(words, wanted, () => this.#resolver.resolveCname(at))
      if (target === undefined) break
      at = target
    }
    throw new Unreachable(`${name} leads from CNAME to CNAME without an end.`)
  }

  async #translated<T>(words: string, wanted: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (typeof code !== 'string') throw error
      if (code === 'ENOTFOUND') throw new ProofAbsent(`${words} does not exist in the DNS.`)
      if (code === 'ENODATA') throw new ProofAbsent(`${words} has no ${wanted} in the DNS.`)
      const why = FAILURES[code] ?? `fails to look it up (${code})`
      throw new Unreachable(`${words}: the DNS server ${this.#server} ${why}.`)
    }
  }
}
