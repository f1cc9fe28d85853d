/** A map of limited size that evicts the oldest write. Reads do not reorder it, which keeps them cheap on every request. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #maxSize: number

  constructor(maxSize: number) {
    super()
    this.#maxSize = maxSize
  }

  override set(key: K, value: V): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#maxSize) this.delete(this.keys().next().value as K)
    return this
  }
}
