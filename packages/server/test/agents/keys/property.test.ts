import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareMany } from './property-run.ts'

test('300 sequences of operations on keys end as the model says; property-full.nightly.test.ts has 100,000', async (t) => {
  const outcomes = await compareMany(t, { from: 1, count: 300 })
  for (const outcome of [
    'rotate ok',
    'contest ok',
    'redeem ok',
    'veto ok',
    'complete replaced',
    'report ok',
  ]) {
    assert.ok((outcomes.get(outcome) ?? 0) > 0, outcome)
  }
})
