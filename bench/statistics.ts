/**
 * @param share 0.5 for the median
 * @param values in any order
 * @returns 0 if there are none
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** In milliseconds. */
export interface Times {
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

export function timesOf(values: readonly number[]): Times {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), longest: Math.max(...values) }
}
