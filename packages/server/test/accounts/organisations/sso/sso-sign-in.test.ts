import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../../../test/support/answer.ts'
import { codeIn, memberNamed, signInBySso, startSsoWorld } from './sso-world.ts'

test('a member of a mapped group signs in, and gets an account that acts for the organisation only', async (t) => {
  const world = await startSsoWorld(t)
  const { visitor, page } = await signInBySso(world, { groups: ['leads'], name: 'Lea  Lead' })
  assert.equal(page, '/dashboard/o/acme/agents')
  const session = jsonOf<Record<string, unknown>>(await visitor.get('/api/session'))
  assert.deepEqual((session.organisations as unknown[]).length, 1)
  const { role, source, username } = (await memberNamed(world.acme, 'Lea Lead')) ?? {}
  assert.deepEqual(
    { role, source, username },
    { role: 'manager', source: 'sso', username: undefined },
  )
  const agents = await visitor.get('/api/account/agents')
  assert.equal(agents.status, 200, agents.text)
})

test('a person without a mapped group gets neither an account nor a session', async (t) => {
  const world = await startSsoWorld(t)
  const { visitor, page } = await signInBySso(world, {
    groups: ['admin', 'Leads', 'leads '],
    name: 'No',
  })
  assert.equal(codeIn(page), 'no-role')
  assert.equal((await visitor.get('/api/account/agents')).status, 401)
  assert.equal(await memberNamed(world.acme, 'No'), undefined)
})
