import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { timestamp } from '../../src/base/timestamp.ts'

test('a timestamp equals Date.toISOString', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 2e14 }), (milliseconds) => {
      assert.equal(timestamp(milliseconds), new Date(milliseconds).toISOString())
    }),
    { numRuns: 5000 },
  )
})
