export interface Point {
  readonly x: number
  readonly y: number
}

export interface Slope {
  /** The slope of a least-squares line: y per x. */
  readonly slope: number
  /** Its standard error, assuming independent points. */
  readonly error: number
}

/** @returns null for fewer than three points */
export function slopeOf(points: readonly Point[]): Slope | null {
  const n = points.length
  if (n < 3) return null
  const mean = (of: (point: Point) => number) => points.reduce((sum, p) => sum + of(p), 0) / n
  const [x, y] = [mean((p) => p.x), mean((p) => p.y)]
  const sxx = points.reduce((sum, p) => sum + (p.x - x) ** 2, 0)
  const sxy = points.reduce((sum, p) => sum + (p.x - x) * (p.y - y), 0)
  const slope = sxy / sxx
  const rest = points.reduce((sum, p) => sum + (p.y - y - slope * (p.x - x)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / (n - 2) / sxx) }
}

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
