import {
  headerFields,
  isWithinLimits,
  keyThumbprint,
  type Naming,
  namingOfDid,
  parseJws,
  readChain,
  type SignedChain,
} from '@countersign/protocol'
import { issuerOrigin } from '../certificates/issuer-client.ts'
import { CountersignError } from '../errors.ts'

/** A chain as a delegate holds it. */
export interface HeldChain extends SignedChain {
  readonly text: string
  /** The origin of the service that certifies the agent. */
  readonly issuer: string
  /** Milliseconds since 1970: of the last hop. */
  readonly expiresAt: number
  readonly renewAt: number
}

/** How long before it expires a chain is replaced, since the request takes time; of a short one after three quarters. */
const MARGIN_MS = 30_000
/** How long after a chain was asked for the next 401, or one that is about to expire, does not ask for another one. */
const PAUSE_MS = 5_000

/** The chain that a delegate sends with its requests. */
export class CarriedChain {
  readonly #ask: (() => Promise<string>) | null
  readonly #naming: Naming
  readonly #publicKey: Uint8Array
  readonly #now: () => number
  #held: HeldChain | null = null
  #asking: Promise<HeldChain> | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  #refusedAt = Number.NEGATIVE_INFINITY

  /**
   * @param source a chain, or a function that returns one
   * @param publicKey of the delegate: 32 bytes
   * @param now milliseconds since 1970
   * @throws CountersignError INVALID_ARGUMENT, UNUSABLE_KEY
   */
  constructor(
    source: string | (() => Promise<string>),
    naming: Naming,
    publicKey: Uint8Array,
    now: () => number,
  ) {
    this.#naming = naming
    this.#publicKey = publicKey
    this.#now = now
    this.#ask = typeof source === 'string' ? null : source
    if (typeof source === 'string') this.#held = this.#read(source)
  }

  /** The last one; null: none was asked for yet. */
  get held(): HeldChain | null {
    return this.#held
  }

  /** One that has not expired. @throws CountersignError OUTSIDE_DELEGATION if it has; INVALID_ARGUMENT; what the function throws */
  async current(): Promise<HeldChain> {
    const held = this.#held
    const now = this.#now()
    if (held !== null && held.renewAt > now) return held
    if (this.#ask === null) return this.#unexpired(held)
    // One that has not expired yet is better than none.
    const known = held !== null && held.expiresAt > now ? held : null
    if (known !== null && now - this.#askedAt < PAUSE_MS) return known
    this.#askedAt = now
    const renewed = this.#renewed(this.#ask)
    return this.#unexpired(await (known === null ? renewed : renewed.catch(() => known)))
  }

  #renewed(ask: () => Promise<string>): Promise<HeldChain> {
    this.#asking ??= ask()
      .then((text) => {
        this.#held = this.#read(text)
        return this.#held
      })
      .finally(() => {
        this.#asking = null
      })
    return this.#asking
  }

  #unexpired(held: HeldChain | null): HeldChain {
    if (held !== null && held.expiresAt > this.#now()) return held
    throw new CountersignError(
      'OUTSIDE_DELEGATION',
      'The delegation has expired. Ask the agent for another one.',
    )
  }

  #read(text: string): HeldChain {
    const chain = typeof text === 'string' ? readChain(text) : null
    const sub = chain === null || 'fault' in chain ? '' : chain.root.did
    if (
      chain === null ||
      'fault' in chain ||
      namingOfDid(sub)?.shortName !== this.#naming.shortName
    ) {
      throw new CountersignError(
        'INVALID_ARGUMENT',
        'chain is a certificate of this deployment and 1 to 3 delegations, as Agent.delegate returns it.',
      )
    }
    const last = chain.hops.at(-1)
    if (last?.keyid !== keyThumbprint(this.#publicKey)) {
      throw new CountersignError('UNUSABLE_KEY', 'This chain delegates to another key.')
    }
    const issuer = issuerOrigin(String(parseJws(chain.certificate).payload.iss))
    const { issuedAt, expiresAt } = last
    const renewAt = expiresAt - Math.min(MARGIN_MS, (expiresAt - issuedAt) / 4)
    return { ...chain, text, issuer, expiresAt, renewAt }
  }

  /** @throws CountersignError OUTSIDE_DELEGATION */
  async assertAllowed({ method, url, headers }: Request): Promise<void> {
    const { hops } = await this.current()
    const { origin, pathname: path } = new URL(url)
    const fields = headerFields([...headers])
    // Verifiers read the last one, which those before it cover.
    const limits = hops.at(-1)?.limits
    if (limits !== undefined && isWithinLimits(limits, { method, origin, path, fields })) return
    throw new CountersignError(
      'OUTSIDE_DELEGATION',
      `${method} ${origin}${path} is outside the limits of this delegation.`,
    )
  }

  /** As `CarriedTokens`. */
  async headersFor(): Promise<[name: string, value: string][]> {
    return [[this.#naming.tokenHeaders.certificate, (await this.current()).text]]
  }

  /** The function is called once for all requests that were refused with one chain. */
  renewAfterRefusal(sent: Headers): boolean {
    if (this.#ask === null) return false
    // Another request was refused too, and there is a newer chain.
    if (sent.get(this.#naming.tokenHeaders.certificate) !== this.#held?.text) return true
    if (this.#now() - this.#refusedAt < PAUSE_MS) return false
    this.#refusedAt = this.#now()
    this.forget()
    return true
  }

  forget(): void {
    if (this.#ask !== null) this.#held = null
  }
}
