import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { vectors } from './vectors.ts'

test('vectors/approvals.json is what tools/write-approval-vectors.ts writes', () => {
  const file = `${import.meta.dirname}/../../vectors/approvals.json`
  const written = JSON.parse(readFileSync(file, 'utf8'))
  assert.deepEqual(written, JSON.parse(JSON.stringify(vectors)))
})
