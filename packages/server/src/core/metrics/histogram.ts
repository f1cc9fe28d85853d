/** How often values fell under which bounds, in plain numbers: observing one costs a few comparisons. */
export class Histogram {
  count = 0
  sum = 0
  readonly #bounds: readonly number[]
  readonly #buckets: Float64Array

  /** @param bounds upper ones, ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#buckets = new Float64Array(bounds.length)
  }

  observe(value: number): void {
    this.count += 1
    this.sum += value
    for (let i = 0; i < this.#bounds.length; i++) {
      if (value > (this.#bounds[i] as number)) continue
      this.#buckets[i] = (this.#buckets[i] as number) + 1
      return
    }
  }

  /**
   * In the text format of Prometheus, where each bucket counts all below it.
   * @param labels as they are written between braces, or none
   * @returns lines
   */
  render(name: string, labels = ''): string[] {
    const lines: string[] = []
    const before = labels === '' ? '' : `${labels},`
    const alone = labels === '' ? '' : `{${labels}}`
    let below = 0
    for (const [i, bound] of this.#bounds.entries()) {
      below += this.#buckets[i] as number
      lines.push(`${name}_bucket{${before}le="${bound}"} ${below}`)
    }
    lines.push(`${name}_bucket{${before}le="+Inf"} ${this.count}`)
    lines.push(`${name}_sum${alone} ${this.sum}`, `${name}_count${alone} ${this.count}`)
    return lines
  }
}
