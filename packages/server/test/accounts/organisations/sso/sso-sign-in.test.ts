import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionState } from '@countersign/protocol'
import { jsonOf } from '../../../../../../test/support/answer.ts'
import { codeIn, memberNamed, signInBySso, startSsoWorld } from './sso-world.ts'

test('a member of a mapped group signs in, and gets an account that acts for the organisation only', async (t) => {
  const world = await startSsoWorld(t)
  const { visitor, page } = await signInBySso(world, { groups: ['leads'], name: 'Lea  Lead' })
  assert.equal(page, '/dashboard/o/acme/agents')
  const session = jsonOf<SessionState>(await visitor.get('/api/session'))
  const { owner, person, actingFor, organisations, invitations, signInMethod } = session
  assert.deepEqual(
    { owner, person, actingFor, organisations, invitations, signInMethod },
    {
      owner: { username: 'acme', displayName: 'Acme' },
      // The username of a managed account is no name for people.
      person: { username: null, displayName: 'Lea Lead', limited: true },
      actingFor: 'acme',
      organisations: [{ username: 'acme', displayName: 'Acme', role: 'manager', verified: false }],
      invitations: 0,
      signInMethod: 'provider',
    },
  )
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
