import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countersignd, startTestService } from '../../../../test/support/service.ts'

test('another BASE_URL is refused, with what would break, until it is changed on purpose', async (t) => {
  const first = await startTestService(t)
  await first.stop()
  // What a developer's machine had does not bind the service that goes online.
  const env = { ...first.env, BASE_URL: 'https://id.example' }
  await (await startTestService(t, env)).stop()
  await (await startTestService(t, { ...env, BASE_URL: 'https://id.example/' })).stop()

  for (const other of ['https://id.example:8443', 'https://other.example', first.url]) {
    const moved = { ...env, BASE_URL: other }
    const refused = await countersignd(moved, 'serve')
    assert.equal(refused.code, 2)
    assert.ok(refused.stderr.includes(`BASE_URL is ${other}, but the data belong to`), other)
    assert.match(refused.stderr, /certificates no longer verify.*countersignd change-base-url/)
    const { stdout } = await countersignd(moved, 'doctor')
    assert.match(stdout, /fail +base URL: BASE_URL is .* the data belong to https:\/\/id\.example/)
  }

  const wrong = await countersignd(env, 'change-base-url', 'http://other.example')
  assert.equal(wrong.code, 2)
  const changed = await countersignd(env, 'change-base-url', 'https://other.example')
  assert.equal(changed.code, 0)
  assert.match(changed.stdout, /Set BASE_URL=https:\/\/other\.example on every node/)
  assert.equal((await countersignd(env, 'serve')).code, 2)
  await startTestService(t, { ...env, BASE_URL: 'https://other.example' })
})
