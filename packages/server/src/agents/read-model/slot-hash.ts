const NONE = -1
const EMPTY = 0
const MIN_CAPACITY = 1024
const MAX_LOAD = 0.75
const GROWTH = 1.5
/** Words per entry: the hash of the key, then the slot number plus one, or 0 if the entry is empty. */
const ENTRY_WORDS = 2
const HASH_RANGE = 2 ** 32

/**
 * A hash table from keys of fixed width to slot numbers, with open addressing and linear probing. The keys stay in the caller's
 * array, which is read only if the full hashes are equal.
 */
export class SlotHash {
  readonly #column: Uint32Array
  readonly #width: number
  readonly #stride: number
  readonly #multipliers: Uint32Array
  #entries = new Uint32Array(MIN_CAPACITY * ENTRY_WORDS)
  #capacity = MIN_CAPACITY
  #size = 0

  /**
   * @param column the array with the keys of the slots; it may grow in place
   * @param width of a key, in words
   * @param stride from the key of one slot to the key of the next, in words
   * @param randomBytes seeds the hash, so that clients who choose their keys cannot cause collisions
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

  /** The number of slots in the table. */
  get size(): number {
    return this.#size
  }

  /** The number of entries that fit without growing, free ones included. */
  get capacity(): number {
    return this.#capacity
  }

  /** The slot whose key equals the key that starts at `from`, or -1. */
  find(key: Uint32Array, from = 0): number {
    return this.#slotAt(this.#indexOf(this.#hash(key, from), key, from))
  }

  /**
   * Inserts a slot under its key, replacing a slot with the same key.
   * @returns the replaced slot, or -1
   */
  set(slot: number): number {
    if (this.#size + 1 > this.#capacity * MAX_LOAD) this.#resize(this.#capacity * GROWTH)
    const from = slot * this.#stride
    const hash = this.#hash(this.#column, from)
    const at = this.#indexOf(hash, this.#column, from)
    const before = this.#slotAt(at)
    if (before === NONE) this.#size += 1
    this.#put(at, hash, slot + 1)
    return before
  }

  /** Deletes a slot. Later entries of the probe sequence move up, so that no tombstone is left. */
  delete(slot: number): void {
    const from = slot * this.#stride
    let hole = this.#indexOf(this.#hash(this.#column, from), this.#column, from)
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

  /** Grows the table for `count` entries at once. */
  reserve(count: number): void {
    if (count > this.#capacity * MAX_LOAD) this.#resize(count / MAX_LOAD + 1)
  }

  /** The index of a key's entry, or of the empty entry where it would be inserted. */
  #indexOf(hash: number, key: Uint32Array, from: number): number {
    const entries = this.#entries
    for (let at = this.#home(hash); ; at = this.#after(at)) {
      const entry = entries[at * ENTRY_WORDS + 1] as number
      if (entry === EMPTY) return at
      if (entries[at * ENTRY_WORDS] === hash && this.#isKeyOf(entry - 1, key, from)) return at
    }
  }

  #slotAt(index: number): number {
    return (this.#entries[index * ENTRY_WORDS + 1] as number) - 1
  }

  #put(index: number, hash: number, entry: number): void {
    this.#entries[index * ENTRY_WORDS] = hash
    this.#entries[index * ENTRY_WORDS + 1] = entry
  }

  /** Entries are roughly in hash order, so rehashing reads and writes sequentially and needs no key. */
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
    return Math.floor((hash / HASH_RANGE) * this.#capacity)
  }

  #after(index: number): number {
    return index + 1 === this.#capacity ? 0 : index + 1
  }

  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.#capacity
  }

  /** Multiply-shift with a random multiplier per word: universal hashing, so that nobody can construct collisions. */
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
