import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64Url, utf8 } from '../encoding.ts'

/** A change of an entry of a status list, as a line of the feed states it. */
export interface ChainedChange {
  /** The number of the change: from 1 in each epoch, without gaps. */
  readonly n: number
  readonly list: number
  readonly idx: number
  readonly status: number
}

/** A place in the feed, and what all changes up to it hash to: what a signed head states. */
export interface ChainPosition {
  readonly epoch: string
  /** Of the newest change; 0: there was none. */
  readonly n: number
  /** 32 bytes in base64url. */
  readonly chain: string
  /** Milliseconds since 1970: the time up to which the service knew its data. */
  readonly asOf: number
}

/** `number`: a line is not the next one. `position`: a head commits to other lines. `epoch`: it is of another epoch. */
export type ChainFault = 'number' | 'position' | 'epoch'

/** The feed shows what its issuer would not send. */
export class FeedChainError extends Error {
  override readonly name = 'FeedChainError'
  readonly fault: ChainFault

  constructor(fault: ChainFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The value before the first change of an epoch. @param issuer the origin of the service @returns 32 bytes */
export function chainStart(issuer: string, epoch: string): Uint8Array {
  return sha256(utf8(`countersign-feed-v1\n${issuer}\n${epoch}\n`))
}

/** The value after a change. @param chain that before it: 32 bytes @returns 32 bytes */
export function chainAfter(chain: Uint8Array, { n, list, idx, status }: ChainedChange): Uint8Array {
  const line = utf8(`${n} ${list} ${idx} ${status}\n`)
  return sha256.create().update(chain).update(line).digest()
}

/** Verifies that the lines of a feed, which are not signed, are all that its signed heads commit to. Pure. */
export class FeedChain<Line extends ChainedChange = ChainedChange> {
  readonly #epoch: string
  #n: number
  #chain: Uint8Array
  #asOf: number
  /** Since the newest head. */
  #unconfirmed: Line[] = []

  /** @param position of a verified head or snapshot */
  constructor({ epoch, n, chain, asOf }: ChainPosition) {
    this.#epoch = epoch
    this.#n = n
    this.#chain = bytesOf(chain)
    this.#asOf = asOf
  }

  /** Lines that no head has confirmed yet. */
  get unconfirmed(): readonly Line[] {
    return this.#unconfirmed
  }

  /** Takes the next line. @throws FeedChainError if it is not the next one */
  apply(line: Line): void {
    if (line.n !== this.#n + 1) {
      throw new FeedChainError('number', `line ${line.n} does not follow line ${this.#n}`)
    }
    this.#chain = chainAfter(this.#chain, line)
    this.#n = line.n
    this.#unconfirmed.push(line)
  }

  /**
   * Compares the lines with a verified head.
   * @returns the lines that it confirms; `older` if it is no newer than the known one, and says nothing
   * @throws FeedChainError if it commits to other lines
   */
  accept({ epoch, n, chain, asOf }: ChainPosition): readonly Line[] | 'older' {
    if (asOf <= this.#asOf) return 'older'
    if (epoch !== this.#epoch) throw new FeedChainError('epoch', 'another epoch has begun')
    if (n !== this.#n || chain !== encodeBase64Url(this.#chain)) {
      throw new FeedChainError('position', `the head commits to other lines than the ${n} known`)
    }
    this.#asOf = asOf
    const confirmed = this.#unconfirmed
    this.#unconfirmed = []
    return confirmed
  }
}

/** @param text base64url of 32 bytes, which a schema has validated */
function bytesOf(text: string): Uint8Array {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (each) => each.charCodeAt(0))
}
