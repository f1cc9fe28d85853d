import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { compareMany } from './property-run.ts'

/** What the sequences must have reached, so that the test cannot pass without testing. */
const REACHED = [
  ...['rotate ok', 'rotate AGENT_NOT_ACTIVE', 'rotate KEY_ALREADY_CLAIMED', 'claim ok'],
  ...['contest ok', 'contest CONFLICT', 'contest AGENT_NOT_ACTIVE', 'contest KEY_ALREADY_CLAIMED'],
  ...[
    'start ok',
    'complete replaced',
    'start CONFLICT',
    'reissue ok',
    'redeem ok',
    'redeem NOT_FOUND',
  ],
  ...['redeem TOKEN_EXPIRED', 'redeem KEY_ALREADY_CLAIMED', 'veto ok', 'veto FORBIDDEN'],
  ...[
    'veto CONFLICT',
    'cancel ok',
    'renounce ok',
    'renounce FORBIDDEN',
    'finish revoked',
    'report ok',
    'report NOT_FOUND',
    'revoke ok',
  ],
  ...['operator-suspend ok', 'operator-reactivate ok', 'reactivate FORBIDDEN'],
]

/** Several tests, because each has 180 seconds. */
const TESTS = 20
const SEQUENCES = 5_000

const reached = new Map<string, number>()

for (let part = 0; part < TESTS; part++) {
  const name = `sequences of operations on keys end as the model says: ${SEQUENCES}, part ${part + 1} of ${TESTS}`
  test(name, SQLITE_ONLY, async (t) => {
    const outcomes = await compareMany(t, { from: 1_000 + part * SEQUENCES, count: SEQUENCES })
    for (const [outcome, count] of outcomes) {
      reached.set(outcome, (reached.get(outcome) ?? 0) + count)
    }
  })
}

test('these sequences have reached what they are about', SQLITE_ONLY, () => {
  for (const outcome of REACHED) assert.ok((reached.get(outcome) ?? 0) > 10, outcome)
})
