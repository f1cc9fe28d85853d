import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestService } from './service.ts'

/** Far more than anything takes, also on a machine that has other things to do: it only ends tests that fail. */
const DEADLINE_MS = 60_000

/**
 * Asks again and again, until the condition holds; fails after the deadline.
 * @param pauseMs the time between two questions
 */
export async function until(
  condition: () => Promise<boolean>,
  milliseconds = DEADLINE_MS,
  pauseMs = 10,
): Promise<void> {
  const deadline = performance.now() + milliseconds
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'it did not happen in time')
    await sleep(pauseMs)
  }
}

/** The same, for what a service does by itself: its timers are not waited for. */
export function untilTicked(
  service: Pick<TestService, 'tick'>,
  condition: () => Promise<boolean>,
): Promise<void> {
  return until(() => {
    service.tick()
    return condition()
  })
}
