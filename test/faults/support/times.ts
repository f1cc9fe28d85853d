/** A summary of durations in milliseconds: `p50 2.1 ms, p99 14 ms, max 230 ms`. */
export function formatPercentiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const parts = [
    ['p50', 0.5],
    ['p99', 0.99],
    ['max', 1],
  ] as const
  if (sorted.length === 0) return 'none'
  return parts
    .map(([name, share]) => `${name} ${formatDuration(percentile(sorted, share))}`)
    .join(', ')
}

/**
 * The smallest value that is not exceeded by the given share of values.
 * @param sorted ascending and not empty
 */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] as number
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds >= 10_000) return `${(milliseconds / 1000).toFixed(1)} s`
  return `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`
}
