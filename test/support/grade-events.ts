import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Grade } from '@countersign/protocol'
import type { Db } from '../../packages/server/src/database/database.ts'

/** Far longer than it takes, for busy machines. */
const PATIENCE_MS = 30_000

/** The grade changes in an agent's events, in order: `C>A` is a change from C to A. */
export async function gradeChanges(db: Db, did: string): Promise<string[]> {
  const rows = await db
    .selectFrom('events')
    .select('payload')
    .where('tail', '=', did.slice(-24))
    .where('type', '=', 'agent.grade_changed')
    .orderBy('seq')
    .execute()
  return rows.map(({ payload }) => {
    const { from, to, ...rest } = JSON.parse(payload) as { from: Grade; to: Grade }
    assert.deepEqual(rest, {}, 'nothing but the two grades')
    return `${from}>${to}`
  })
}

/** Waits until the agent's events have exactly these grade changes. Sends no request for the agent. */
export async function untilGradeChanges(
  db: Db,
  did: string,
  expected: readonly string[],
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const told = await gradeChanges(db, did)
    if (isDeepStrictEqual(told, expected)) return
    assert.ok(performance.now() < deadline, `told: ${told.join()}, expected: ${expected.join()}`)
    await sleep(20)
  }
}
