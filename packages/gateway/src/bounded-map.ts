/** A map of limited size that evicts the oldest write. Reads do not reorder it, which keeps them cheap on every request. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #maxSize: number

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#maxSize) {
      this.#entries.delete(this.#entries.keys().next().value as K)
    }
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#entries.entries()
  }

  get size(): number {
    return this.#entries.size
  }
}
