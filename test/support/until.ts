import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestService } from './service.ts'

/** Far longer than anything takes on a busy machine, so that it only ends failing tests. */
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

/** Polls for a condition while running the service's timers, instead of waiting for them. */
export function untilTicked(
  service: Pick<TestService, 'tick'>,
  condition: () => Promise<boolean>,
): Promise<void> {
  return until(() => {
    service.tick()
    return condition()
  })
}
