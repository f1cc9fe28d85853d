import assert from 'node:assert/strict'
import { until } from '../../../../test/support/until.ts'

const TRIES = 5

/**
 * Asserts that a change becomes visible within a time. Every change must become visible; one in five attempts must do so
 * in time, because other work on the machine may delay some.
 * @param promisedMs the time limit
 * @param attempt makes a new change, and returns a function that tells whether it is visible
 */
export async function promptly(
  promisedMs: number,
  attempt: () => Promise<() => Promise<boolean>>,
): Promise<void> {
  const took: number[] = []
  while (took.length < TRIES) {
    const isVisible = await attempt()
    const since = performance.now()
    await until(isVisible, 30_000)
    const milliseconds = performance.now() - since
    if (milliseconds < promisedMs) return
    took.push(Math.round(milliseconds))
  }
  assert.fail(`promised within ${promisedMs} ms, took ${took} ms`)
}
