/** A map that forgets what was set the longest ago. Reading moves nothing: that is done on every request. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#most) {
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
