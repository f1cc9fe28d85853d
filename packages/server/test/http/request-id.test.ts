import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import { startTestService } from '../../../../test/support/service.ts'

test('request ids are random: none tells the one before or after it', async (t) => {
  const service = await startTestService(t)
  const ids: string[] = []
  for (let count = 0; count < 20; count++) {
    const { text } = await ask(service, '/api/v1/agent/x')
    ids.push((JSON.parse(text) as { error: { requestId: string } }).error.requestId)
  }
  for (const id of ids) assert.match(id, /^req_[0-9a-f]{24}$/)
  // Each half has 48 random bits: a constant prefix or a counter would show as equal halves.
  for (const [from, to] of [
    [4, 16],
    [16, 28],
  ]) {
    assert.equal(new Set(ids.map((id) => id.slice(from, to))).size, ids.length)
  }
})
