import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  ...['veto CONFLICT', 'cancel ok', 'renounce ok', 'renounce FORBIDDEN', 'revoke ok'],
  ...['operator-suspend ok', 'operator-reactivate ok', 'reactivate FORBIDDEN'],
]

test('100,000 sequences of operations on keys end as the model says', async (t) => {
  const outcomes = await compareMany(t, { from: 1_000, count: 100_000 })
  for (const outcome of REACHED) assert.ok((outcomes.get(outcome) ?? 0) > 100, outcome)
})
