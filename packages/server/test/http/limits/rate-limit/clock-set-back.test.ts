import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService } from '../../../../../../test/support/service.ts'
import { assertLimited, failToClaim, LIMITED, leftOf } from './support.ts'

const WINDOW_MS = 3_600_000

test('after a clock is set back by a window, callers have their whole quota, and no more', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, LIMITED, () => now)
  const left = async () =>
    leftOf(await failToClaim(service))
      .get('failed-claims')
      ?.get('r')
  assert.equal(await left(), 9)
  now -= WINDOW_MS
  for (let r = 9; r >= 0; r--) assert.equal(await left(), r)
  assertLimited(await failToClaim(service), 'failed-claims')
})
