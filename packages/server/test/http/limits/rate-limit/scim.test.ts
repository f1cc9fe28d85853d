import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import {
  askScim,
  assertScimRefused,
  connectDirectory,
} from '../../../../../../test/support/scim.ts'
import { startTestService } from '../../../../../../test/support/service.ts'
import { policiesOf } from './support.ts'

test('requests of SCIM are limited by token, whatever they ask', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: 'scim=3/h' })
  const acme = await connectDirectory(service, await createOrganisation(service))
  const other = await connectDirectory(service, await createOrganisation(service, 'other'))
  assert.equal((await acme.send('GET', '/Users')).status, 200)
  assert.equal((await acme.send('POST', '/Users', { userName: 'grace' })).status, 201)
  assert.equal((await acme.send('GET', '/Groups')).status, 501)
  const limited = await acme.send('GET', '/Users')
  assertScimRefused(limited, 'RATE_LIMITED')
  assert.match(limited.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal((await other.send('GET', '/Users')).status, 200)
})

test('failed tokens are limited by address, and a valid token passes beside them', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: '' })
  const acme = await connectDirectory(service, await createOrganisation(service))
  const guess = (i: number) =>
    askScim(service, `svc-scim-${String(i).padStart(32, '0')}`, 'GET', '/Users')
  for (let i = 0; i < 20; i++) assertScimRefused(await guess(i), 'UNAUTHENTICATED')
  // A failure comes back every 3 seconds.
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => guess(20 + i)))
  const limited = answers.filter(({ status }) => status === 429)
  assert.ok(limited.length >= 10, String(answers.map(({ status }) => status)))
  for (const answer of limited) {
    assertScimRefused(answer, 'RATE_LIMITED')
    assert.deepEqual(policiesOf(answer).get('failed-scim')?.get('q'), 20)
  }
  assert.equal((await acme.send('GET', '/Users')).status, 200)
})
