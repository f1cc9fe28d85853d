import { type Naming, parseDidOrTail } from '@countersign/protocol'
import { CountersignError } from './errors.ts'

/** The DID of an agent, which it may not know yet. */
export class OwnDid {
  readonly #ask: () => Promise<unknown>
  readonly #service: string
  #asking: Promise<void> | null = null
  /** Null until it is known. */
  known: string | null = null

  /**
   * @param ask asks the service for the agent of the key and sets `known`. @throws CountersignError NOT_FOUND if it has no certificate
   * @param service its address, for messages
   */
  constructor(ask: () => Promise<unknown>, service: string) {
    this.#ask = ask
    this.#service = service
  }

  /** @throws CountersignError NO_DID if it is not known */
  require(): string {
    if (this.known !== null) return this.known
    const message = 'The DID of this agent is not known here: claim one, or ask whoami() once.'
    throw new CountersignError('NO_DID', message)
  }

  /**
   * Asks for it if it is not known, once for all who need it at the same time.
   * @throws CountersignError NO_DID if the key has no certificate; and what `ask` throws
   */
  async find(): Promise<string> {
    if (this.known !== null) return this.known
    this.#asking ??= this.#question()
    await this.#asking
    return this.require()
  }

  async #question(): Promise<void> {
    try {
      await this.#ask()
    } catch (cause) {
      if ((cause as CountersignError).code !== 'NOT_FOUND') throw cause
      const message = `This key has no certificate at ${this.#service}. Claim one: agent.claim(token), with a claim token from the owner.`
      throw new CountersignError('NO_DID', message, { cause })
    } finally {
      this.#asking = null
    }
  }
}

/** A DID from a DID or its tail. @throws CountersignError INVALID_ARGUMENT */
export function fullDid(naming: Naming, text: string): string {
  const tail = parseDidOrTail(naming, text)
  if (tail !== null) return `${naming.didPrefix}${tail}`
  const message = `A DID of this service is ${naming.didPrefix} and 24 base58 characters.`
  throw new CountersignError('INVALID_ARGUMENT', message)
}
