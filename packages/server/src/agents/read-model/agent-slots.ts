import { nextRevision } from './revision.ts'
import { KEY_WORDS } from './words.ts'

const WORD_BYTES = 4
/** Words per slot. A slot fills one cache line of 64 bytes, so that a lookup misses the CPU cache once. */
export const SLOT_WORDS = 16
/** Offsets of the members in a slot, in 32-bit words and in 64-bit floats. */
const WORD = { tail: 0, owner: 6, status: 7, ring: 14, revision: 15 } as const
const FLOAT = { claimedAt: 4, seq: 5, version: 6 } as const
/** The bit of the clock algorithm in the word of the revision. */
const REFERENCED = 1
const SLOT_FLOATS = SLOT_WORDS / 2

const MIN_CAPACITY = 1024

/**
 * Stores agents in typed arrays, 96 bytes per slot, so that a million agents cost the garbage collector nothing. The arrays
 * grow in place up to the limit; until then the limit only reserves address space.
 */
export class AgentSlots {
  readonly #limit: number
  readonly #bytes: ArrayBuffer
  readonly #keyBytes: ArrayBuffer
  /** All slots except their keys. Each slot starts with the words of the tail. */
  readonly words: Uint32Array<ArrayBuffer>
  /** The keys, stored separately because most lookups do not read them. */
  readonly keys: Uint32Array<ArrayBuffer>
  readonly #floats: Float64Array

  /** @param limit the maximum number of slots @param capacity the number to begin with; less than `limit` if they are to grow */
  constructor(limit: number, capacity = Math.min(MIN_CAPACITY, limit)) {
    this.#limit = limit
    this.#bytes = bufferOf(SLOT_WORDS, capacity, limit)
    this.#keyBytes = bufferOf(KEY_WORDS, capacity, limit)
    this.words = new Uint32Array(this.#bytes)
    this.keys = new Uint32Array(this.#keyBytes)
    this.#floats = new Float64Array(this.#bytes)
  }

  get capacity(): number {
    return this.words.length / SLOT_WORDS
  }

  /** Grows to `capacity` slots, up to the limit. */
  grow(capacity: number): void {
    const slots = Math.min(capacity, this.#limit)
    if (slots <= this.capacity) return
    this.#bytes.resize(slots * SLOT_WORDS * WORD_BYTES)
    this.#keyBytes.resize(slots * KEY_WORDS * WORD_BYTES)
  }

  /** Copies a slot and its key from arrays in this layout. */
  copy(words: Uint32Array, keys: Uint32Array, from: number, to: number): void {
    for (let i = 0; i < SLOT_WORDS; i++) {
      this.words[to * SLOT_WORDS + i] = words[from * SLOT_WORDS + i] as number
    }
    for (let i = 0; i < KEY_WORDS; i++) {
      this.keys[to * KEY_WORDS + i] = keys[from * KEY_WORDS + i] as number
    }
  }

  owner(slot: number): number {
    return this.words[slot * SLOT_WORDS + WORD.owner] as number
  }

  setOwner(slot: number, owner: number): void {
    this.words[slot * SLOT_WORDS + WORD.owner] = owner
  }

  /** Index into `KEY_PRIORITY`. */
  status(slot: number): number {
    return this.words[slot * SLOT_WORDS + WORD.status] as number
  }

  setStatus(slot: number, status: number): void {
    this.words[slot * SLOT_WORDS + WORD.status] = status
  }

  /** The next slot with the same key. These slots form a circular list. */
  ring(slot: number): number {
    return this.words[slot * SLOT_WORDS + WORD.ring] as number
  }

  setRing(slot: number, next: number): void {
    this.words[slot * SLOT_WORDS + WORD.ring] = next
  }

  /** The referenced bit of the clock algorithm: whether the slot was read since the hand last passed. */
  referenced(slot: number): boolean {
    return ((this.words[slot * SLOT_WORDS + WORD.revision] as number) & REFERENCED) !== 0
  }

  setReferenced(slot: number, referenced: boolean): void {
    const word = slot * SLOT_WORDS + WORD.revision
    const revision = (this.words[word] as number) & ~REFERENCED
    this.words[word] = referenced ? revision | REFERENCED : revision
  }

  /** Shares a word with the referenced bit. */
  revision(slot: number): number {
    return (this.words[slot * SLOT_WORDS + WORD.revision] as number) >>> 1
  }

  /** Call after every change of the slot. */
  revise(slot: number): void {
    const referenced = this.referenced(slot) ? REFERENCED : 0
    this.words[slot * SLOT_WORDS + WORD.revision] = (nextRevision() << 1) | referenced
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

/** Buffers that cannot grow are cheaper to create. */
function bufferOf(words: number, capacity: number, limit: number): ArrayBuffer {
  const bytes = words * WORD_BYTES
  const options = capacity < limit ? { maxByteLength: limit * bytes } : {}
  return new ArrayBuffer(capacity * bytes, options)
}
