const EMPTY = 0
const LEAST_BITS = 10

/**
 * A hash table from keys of a fixed width to slot numbers. The keys themselves stand in an array of the caller's, so
 * that an entry costs four bytes. Open addressing, linear probing, at most half full.
 */
export class SlotHash {
  readonly #width: number
  readonly #stride: number
  readonly #multipliers: Uint32Array
  #entries = new Int32Array(1 << LEAST_BITS)
  #bits = LEAST_BITS
  #size = 0

  /**
   * @param width of a key, in words
   * @param stride from the key of one slot to the key of the next, in words
   * @param randomBytes seeds the hash: keys are chosen by strangers, who must not be able to make them collide
   */
  constructor(width: number, stride: number, randomBytes: (count: number) => Uint8Array) {
    this.#width = width
    this.#stride = stride
    this.#multipliers = Uint32Array.from({ length: width }, () => {
      const [a, b, c, d] = randomBytes(4) as unknown as [number, number, number, number]
      return (a | (b << 8) | (c << 16) | (d << 24) | 1) >>> 0
    })
  }

  /** The slot whose key equals `key`, or -1. */
  find(column: Uint32Array, key: Uint32Array): number {
    const mask = this.#entries.length - 1
    for (let at = this.#hash(key, 0); ; at = (at + 1) & mask) {
      const entry = this.#entries[at] as number
      if (entry === EMPTY) return -1
      if (this.#equal(column, entry - 1, key)) return entry - 1
    }
  }

  /** Enters a slot under its key, in the place of the slot that has the same key, if there is one. */
  set(column: Uint32Array, slot: number): void {
    if ((this.#size + 1) * 2 > this.#entries.length) this.#resize(column, this.#bits + 1)
    const at = this.#place(column, slot)
    if (this.#entries[at] === EMPTY) this.#size += 1
    this.#entries[at] = slot + 1
  }

  /** Takes a slot out. Entries behind it move up, so that no tombstone is left. */
  delete(column: Uint32Array, slot: number): void {
    const mask = this.#entries.length - 1
    let hole = this.#place(column, slot)
    if (this.#entries[hole] !== slot + 1) return
    this.#size -= 1
    for (let at = (hole + 1) & mask; this.#entries[at] !== EMPTY; at = (at + 1) & mask) {
      const entry = this.#entries[at] as number
      const home = this.#hash(column, (entry - 1) * this.#stride)
      if (((at - home) & mask) < ((at - hole) & mask)) continue
      this.#entries[hole] = entry
      hole = at
    }
    this.#entries[hole] = EMPTY
  }

  /** Makes room for a number of entries at once. */
  reserve(column: Uint32Array, count: number): void {
    const bits = Math.max(LEAST_BITS, Math.ceil(Math.log2(count * 2 + 1)))
    if (bits > this.#bits) this.#resize(column, bits)
  }

  /** Where the key of a slot stands or would stand. */
  #place(column: Uint32Array, slot: number): number {
    const mask = this.#entries.length - 1
    const from = slot * this.#stride
    for (let at = this.#hash(column, from); ; at = (at + 1) & mask) {
      const entry = this.#entries[at] as number
      if (entry === EMPTY || this.#same(column, (entry - 1) * this.#stride, column, from)) return at
    }
  }

  #resize(column: Uint32Array, bits: number): void {
    const old = this.#entries
    this.#entries = new Int32Array(2 ** bits)
    this.#bits = bits
    for (const entry of old) {
      if (entry !== EMPTY) this.#entries[this.#place(column, entry - 1)] = entry
    }
  }

  /** Multiply-shift with a random multiplier for each word: universal, so that collisions cannot be aimed at. */
  #hash(words: Uint32Array, from: number): number {
    let sum = 0
    for (let i = 0; i < this.#width; i++) {
      const word = words[from + i] as number
      sum = (sum + Math.imul(word ^ (word >>> 16), this.#multipliers[i] as number)) | 0
    }
    return sum >>> (32 - this.#bits)
  }

  #equal(column: Uint32Array, slot: number, key: Uint32Array): boolean {
    return this.#same(column, slot * this.#stride, key, 0)
  }

  #same(a: Uint32Array, i: number, b: Uint32Array, j: number): boolean {
    for (let n = 0; n < this.#width; n++) if (a[i + n] !== b[j + n]) return false
    return true
  }
}
