import assert from 'node:assert/strict'
import { until } from '../../../../test/support/until.ts'

const TRIES = 5

/**
 * Does what is promised to show soon. It has to show in any case; a machine that has other things to do may be late,
 * but not each time.
 * @param attempt does it anew, and returns whether it shows
 */
export async function promptly(
  promisedMs: number,
  attempt: () => Promise<() => Promise<boolean>>,
): Promise<void> {
  const took: number[] = []
  while (took.length < TRIES) {
    const shows = await attempt()
    const since = performance.now()
    await until(shows, 30_000)
    const milliseconds = performance.now() - since
    if (milliseconds < promisedMs) return
    took.push(Math.round(milliseconds))
  }
  assert.fail(`it was promised within ${promisedMs} ms and took ${took} ms`)
}
