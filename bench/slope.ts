export interface Point {
  readonly x: number
  readonly y: number
}

export interface Slope {
  /** y for each x, by least squares. */
  readonly slope: number
  /** Its standard error, as if the points did not depend on one another. */
  readonly error: number
}

/** @returns null of fewer than three points: nothing can be said of them */
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
