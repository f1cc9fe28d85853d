const NONE = -1
const EMPTY = 0
const LEAST_CAPACITY = 1024
const FULLEST = 0.75
const GROWTH = 1.5
/** Of an entry: the hash of the key, then the slot's number plus one, or 0 where there is none. */
const ENTRY_WORDS = 2
const HASHES = 2 ** 32

/**
 * A hash table from keys of a fixed width to slot numbers. The keys themselves stand in an array of the caller's, which
 * is looked at only where the whole hash is the same: by then it is the right one. Open addressing, linear probing.
 */
export class SlotHash {
  readonly #column: Uint32Array
  readonly #width: number
  readonly #stride: number
  readonly #multipliers: Uint32Array
  #entries = new Uint32Array(LEAST_CAPACITY * ENTRY_WORDS)
  #capacity = LEAST_CAPACITY
  #size = 0

  /**
   * @param column where the keys of the slots stand; it may grow in its place
   * @param width of a key, in words
   * @param stride from the key of one slot to the key of the next, in words
   * @param randomBytes seeds the hash: keys are chosen by strangers, who must not be able to make them collide
   */
  constructor(
    column: Uint32Array,
    width: number,
    stride: number,
    randomBytes: (count: number) => Uint8Array,
  ) {
    this.#column = column
    this.#width = width
    this.#stride = stride
    this.#multipliers = Uint32Array.from({ length: width }, () => {
      const [a, b, c, d] = randomBytes(4) as unknown as [number, number, number, number]
      return (a | (b << 8) | (c << 16) | (d << 24) | 1) >>> 0
    })
  }

  /** How many slots it holds. */
  get size(): number {
    return this.#size
  }

  /** How many entries its array has room for: a measure of its memory. */
  get capacity(): number {
    return this.#capacity
  }

  /** The slot whose key equals the one that begins at `from`, or -1. */
  find(key: Uint32Array, from = 0): number {
    return this.#slotAt(this.#place(this.#hash(key, from), key, from))
  }

  /**
   * Enters a slot under its key, in the place of the slot that has the same key, if there is one.
   * @returns the slot whose place it took, or -1
   */
  set(slot: number): number {
    if (this.#size + 1 > this.#capacity * FULLEST) this.#resize(this.#capacity * GROWTH)
    const from = slot * this.#stride
    const hash = this.#hash(this.#column, from)
    const at = this.#place(hash, this.#column, from)
    const before = this.#slotAt(at)
    if (before === NONE) this.#size += 1
    this.#put(at, hash, slot + 1)
    return before
  }

  /** Takes a slot out. Entries behind it move up, so that no tombstone is left. */
  delete(slot: number): void {
    const from = slot * this.#stride
    let hole = this.#place(this.#hash(this.#column, from), this.#column, from)
    if (this.#slotAt(hole) !== slot) return
    this.#size -= 1
    for (let at = this.#after(hole); this.#slotAt(at) !== NONE; at = this.#after(at)) {
      const hash = this.#entries[at * ENTRY_WORDS] as number
      if (this.#distance(this.#home(hash), at) < this.#distance(hole, at)) continue
      this.#put(hole, hash, this.#slotAt(at) + 1)
      hole = at
    }
    this.#put(hole, 0, EMPTY)
  }

  /** Makes room for a number of entries at once. */
  reserve(count: number): void {
    if (count > this.#capacity * FULLEST) this.#resize(count / FULLEST + 1)
  }

  /** The place of a key among the entries, or the empty one where it would stand. */
  #place(hash: number, key: Uint32Array, from: number): number {
    const entries = this.#entries
    for (let at = this.#home(hash); ; at = this.#after(at)) {
      const entry = entries[at * ENTRY_WORDS + 1] as number
      if (entry === EMPTY) return at
      if (entries[at * ENTRY_WORDS] === hash && this.#isKeyOf(entry - 1, key, from)) return at
    }
  }

  #slotAt(place: number): number {
    return (this.#entries[place * ENTRY_WORDS + 1] as number) - 1
  }

  #put(place: number, hash: number, entry: number): void {
    this.#entries[place * ENTRY_WORDS] = hash
    this.#entries[place * ENTRY_WORDS + 1] = entry
  }

  /** Entries stand about in the order of their hashes: this goes from one end to the other, and to no key. */
  #resize(capacity: number): void {
    const old = this.#entries
    this.#capacity = Math.ceil(capacity)
    this.#entries = new Uint32Array(this.#capacity * ENTRY_WORDS)
    for (let i = 0; i < old.length; i += ENTRY_WORDS) {
      if (old[i + 1] === EMPTY) continue
      const hash = old[i] as number
      let at = this.#home(hash)
      while (this.#slotAt(at) !== NONE) at = this.#after(at)
      this.#put(at, hash, old[i + 1] as number)
    }
  }

  #home(hash: number): number {
    return Math.floor((hash / HASHES) * this.#capacity)
  }

  #after(place: number): number {
    return place + 1 === this.#capacity ? 0 : place + 1
  }

  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.#capacity
  }

  /** Multiply-shift with a random multiplier for each word: universal, so that collisions cannot be aimed at. */
  #hash(words: Uint32Array, from: number): number {
    let sum = 0
    for (let i = 0; i < this.#width; i++) {
      const word = words[from + i] as number
      sum = (sum + Math.imul(word ^ (word >>> 16), this.#multipliers[i] as number)) | 0
    }
    return sum >>> 0
  }

  #isKeyOf(slot: number, key: Uint32Array, from: number): boolean {
    const column = this.#column
    const start = slot * this.#stride
    for (let n = 0; n < this.#width; n++) if (column[start + n] !== key[from + n]) return false
    return true
  }
}
