import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again, until it is so; fails where it is not in time. */
export async function until(
  condition: () => Promise<boolean>,
  milliseconds: number,
): Promise<void> {
  const deadline = performance.now() + milliseconds
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'it did not happen in time')
    await sleep(10)
  }
}
