/** A Prometheus histogram in plain numbers, so that an observation costs a few comparisons. */
export class Histogram {
  count = 0
  sum = 0
  readonly #bounds: readonly number[]
  readonly #buckets: Float64Array

  /** @param bounds upper bounds of the buckets, ascending */
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
   * Renders the Prometheus text format, in which each bucket includes all lower ones.
   * @param labels the content of the braces, such as `route="/"`; empty for none
   * @returns the lines
   */
  render(name: string, labels = ''): string[] {
    const lines: string[] = []
    const prefix = labels === '' ? '' : `${labels},`
    const braced = labels === '' ? '' : `{${labels}}`
    let cumulative = 0
    for (const [i, bound] of this.#bounds.entries()) {
      cumulative += this.#buckets[i] as number
      lines.push(`${name}_bucket{${prefix}le="${bound}"} ${cumulative}`)
    }
    lines.push(`${name}_bucket{${prefix}le="+Inf"} ${this.count}`)
    lines.push(`${name}_sum${braced} ${this.sum}`, `${name}_count${braced} ${this.count}`)
    return lines
  }
}
