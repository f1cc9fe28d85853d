import { KEY_WORDS } from './words.ts'

const WORD_BYTES = 4
/** Words of a slot, a cache line of 64 bytes: an answer about one agent of a million waits for memory once. */
export const SLOT_WORDS = 16
/** Where each member stands in a slot: in 32-bit words, and in 64-bit floats for the three that are. */
const WORD = { tail: 0, owner: 6, status: 7, ring: 14, touched: 15 } as const
const FLOAT = { claimedAt: 4, seq: 5, version: 6 } as const
const SLOT_FLOATS = SLOT_WORDS / 2

const LEAST_CAPACITY = 1024

/**
 * Agents in typed arrays, 96 bytes a slot: a million of them are no work for the garbage collector. The arrays grow in
 * their place, up to what was asked for at first; until then that is no more than a range of addresses.
 */
export class AgentSlots {
  readonly #limit: number
  readonly #bytes: ArrayBuffer
  readonly #keyBytes: ArrayBuffer
  /** Slot after slot; the words of the tail come first. */
  readonly words: Uint32Array
  /** The keys apart: most answers do not look at them. */
  readonly keys: Uint32Array
  readonly #floats: Float64Array

  /** @param limit how many slots there may ever be */
  constructor(limit: number) {
    this.#limit = limit
    this.#bytes = growing(SLOT_WORDS, limit)
    this.#keyBytes = growing(KEY_WORDS, limit)
    this.words = new Uint32Array(this.#bytes)
    this.keys = new Uint32Array(this.#keyBytes)
    this.#floats = new Float64Array(this.#bytes)
    this.grow(LEAST_CAPACITY)
  }

  get capacity(): number {
    return this.words.length / SLOT_WORDS
  }

  /** Makes room for so many slots, as far as the limit allows. */
  grow(capacity: number): void {
    const slots = Math.min(capacity, this.#limit)
    if (slots <= this.capacity) return
    this.#bytes.resize(slots * SLOT_WORDS * WORD_BYTES)
    this.#keyBytes.resize(slots * KEY_WORDS * WORD_BYTES)
  }

  owner(slot: number): number {
    return this.words[slot * SLOT_WORDS + WORD.owner] as number
  }

  setOwner(slot: number, owner: number): void {
    this.words[slot * SLOT_WORDS + WORD.owner] = owner
  }

  /** Index into the statuses. */
  status(slot: number): number {
    return this.words[slot * SLOT_WORDS + WORD.status] as number
  }

  setStatus(slot: number, status: number): void {
    this.words[slot * SLOT_WORDS + WORD.status] = status
  }

  /** Another slot with the same key: a ring, so that any of them leads to all. */
  ring(slot: number): number {
    return this.words[slot * SLOT_WORDS + WORD.ring] as number
  }

  setRing(slot: number, next: number): void {
    this.words[slot * SLOT_WORDS + WORD.ring] = next
  }

  /** Whether the slot was read since the clock hand last passed. */
  touched(slot: number): boolean {
    return this.words[slot * SLOT_WORDS + WORD.touched] === 1
  }

  setTouched(slot: number, touched: boolean): void {
    this.words[slot * SLOT_WORDS + WORD.touched] = touched ? 1 : 0
  }

  claimedAt(slot: number): number {
    return this.#floats[slot * SLOT_FLOATS + FLOAT.claimedAt] as number
  }

  setClaimedAt(slot: number, time: number): void {
    this.#floats[slot * SLOT_FLOATS + FLOAT.claimedAt] = time
  }

  seq(slot: number): number {
    return this.#floats[slot * SLOT_FLOATS + FLOAT.seq] as number
  }

  setSeq(slot: number, seq: number): void {
    this.#floats[slot * SLOT_FLOATS + FLOAT.seq] = seq
  }

  version(slot: number): number {
    return this.#floats[slot * SLOT_FLOATS + FLOAT.version] as number
  }

  setVersion(slot: number, version: number): void {
    this.#floats[slot * SLOT_FLOATS + FLOAT.version] = version
  }
}

function growing(words: number, limit: number): ArrayBuffer {
  return new ArrayBuffer(0, { maxByteLength: limit * words * WORD_BYTES })
}
