import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { SessionState } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  type CommandResult,
  claimAgent,
  claimBody,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { until } from '../../../../../test/support/until.ts'
import { suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import { statusOf, verifyKey } from './keys.ts'
import { AGENTS, newOwner } from './with-agent.ts'

function operate(service: TestService, ...args: string[]): Promise<CommandResult> {
  return countersignd(service.env, ...args)
}

async function done(service: TestService, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await operate(service, ...args)
  assert.equal(code, 0, stderr)
  return stdout
}

async function untilStatus(service: TestService, did: string, status: string): Promise<void> {
  await until(async () => (await statusOf(service, did))[0] === status)
}

suite('an owner whom the operator suspended', { concurrency: true }, () => {
  test('can sign in and see why, and issues and changes nothing', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service, 'ada')
    const key = newKey()
    const did = await claimAgent(service, owner.ownerId, key)
    const token = await service.operator.issueToken(owner.ownerId)
    const before = jsonOf<SessionState>(await owner.get('/api/session'))
    assert.equal(before.suspension, null)

    assert.match(await done(service, 'owner', 'suspend', 'ada', '--reason', 'fraud'), /1 agent\./)

    await untilStatus(service, did, 'suspended')
    assert.deepEqual(await statusOf(service, did), ['suspended', 'owner_suspended'])
    assert.equal((await verifyKey(service, key)).verified, false)
    const again = await signIn(service, owner.ownerId)
    const { suspension } = jsonOf<SessionState>(await again.get('/api/session'))
    assert.equal(suspension?.reason, 'fraud')
    assert.ok(Date.parse(suspension?.since ?? '') <= Date.now())

    const claim = () => post(service, '/api/v1/claim', claimBody(token))
    assertRefused(await unchanged(service, claim), 410, 'TOKEN_EXPIRED', /suspended/)
    const refused: [method: string, target: string, body: unknown][] = [
      ['POST', '/api/agents/token', {}],
      ['PATCH', '/api/account', { displayName: 'PayPal Holdings, Inc.' }],
      ['PATCH', `${AGENTS}/${did}`, { displayName: 'Support' }],
      ['POST', `${AGENTS}/${did}/reactivate`, {}],
      ['POST', `${AGENTS}/${did}/channels`, { kind: 'runtime', handleOrDomain: 'home' }],
      ['DELETE', '/api/identity/in-person', undefined],
      ['POST', '/api/account/deletion', { username: 'ada' }],
    ]
    for (const [method, target, body] of refused) {
      const answer = await unchanged(service, () => again.send(method, target, body))
      assertRefused(answer, 403, 'FORBIDDEN', /operator suspended/)
    }
    assert.equal((await again.send('PATCH', `${AGENTS}/${did}`, { username: null })).status, 200)
    assert.equal((await again.get('/api/account/export')).status, 200)
    assert.equal((await again.post(`${AGENTS}/${did}/revoke`)).status, 200)
    const issued = await operate(service, 'token', 'issue', 'ada')
    assert.deepEqual([issued.code, issued.stdout], [4, ''])
  })

  test('gets back the agents that this suspended, and no others', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service, 'ada')
    const claimOne = (label: string) => claimAgent(service, owner.ownerId, newKey(), label)
    const dids = {
      active: await claimOne('a'),
      byOwner: await claimOne('b'),
      byOperator: await claimOne('c'),
      later: await claimOne('d'),
      revoked: await claimOne('e'),
    }
    await owner.post(`${AGENTS}/${dids.byOwner}/suspend`, { reason: 'owner_suspended' })
    await done(service, 'agent', 'suspend', dids.byOperator, '--reason', 'abuse')
    await owner.post(`${AGENTS}/${dids.revoked}/revoke`)

    await done(service, 'owner', 'suspend', 'ada')
    await done(service, 'agent', 'suspend', dids.later, '--reason', 'abuse')
    await done(service, 'agent', 'reactivate', dids.byOperator)
    await until(async () => (await statusOf(service, dids.byOperator))[1] === 'owner_suspended')
    const lift = await operate(service, 'agent', 'reactivate', dids.active)
    assert.deepEqual([lift.code, /owner of this agent/.test(lift.stderr)], [4, true])
    assert.match(await done(service, 'owner', 'reactivate', 'ada'), /2 agents active again/)

    await untilStatus(service, dids.active, 'active')
    await untilStatus(service, dids.byOperator, 'active')
    assert.deepEqual(await statusOf(service, dids.byOwner), ['suspended', 'owner_suspended'])
    assert.deepEqual(await statusOf(service, dids.later), ['suspended', 'abuse'])
    assert.deepEqual(await statusOf(service, dids.revoked), ['revoked', null])
    assert.equal((await owner.post('/api/agents/token')).status, 201)
    const { suspension } = jsonOf<SessionState>(await owner.get('/api/session'))
    assert.equal(suspension, null)
  })

  test('is shown in the list of owners; suspending and lifting twice is an error', async (t) => {
    const service = await startTestService(t)
    await newOwner(service, 'ada')
    const shown = async () => JSON.parse(await done(service, 'owner', 'list', '--json'))[0]
    const twice = async (verb: string, message: RegExp) => {
      const { code, stderr } = await operate(service, 'owner', verb, 'ada')
      assert.equal(code, 2)
      assert.match(stderr, message)
    }
    await twice('reactivate', /is not suspended/)
    await done(service, 'owner', 'suspend', 'ada', '--reason', 'fraud')
    await twice('suspend', /is suspended already/)
    assert.equal((await shown()).suspensionReason, 'fraud')
    assert.match((await shown()).suspendedAt, /Z$/)
    await done(service, 'owner', 'reactivate', 'ada')
    assert.equal((await shown()).suspendedAt, null)
    assert.equal((await operate(service, 'owner', 'suspend', 'nobody')).code, 3)
    const { code } = await operate(service, 'owner', 'suspend', 'ada', '--reason', 'Two Words')
    assert.equal(code, 2)
  })

  test('is suspended whole, if the first attempt was interrupted', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const did = await claimAgent(service, owner.ownerId)
    // The state after the first transaction, had there been more agents than it takes.
    await service.operator.db.write((tx) =>
      tx.db.updateTable('owners').set({ suspended_at: Date.now() }).execute(),
    )
    const deps = { db: service.operator.db, now: Date.now }
    assert.equal(await suspendOwner(deps, owner.ownerId, null), 1)
    await untilStatus(service, did, 'suspended')
  })
})

test('the operator deletes an account: its agents are revoked, its sessions end', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const did = await claimAgent(service, owner.ownerId)
  await done(service, 'owner', 'suspend', 'ada')
  assert.match(await done(service, 'owner', 'delete', 'ada'), /deleted; 1 agent revoked/)
  await until(async () => (await statusOf(service, did))[1] === 'owner_deleted')
  assertRefused(await owner.get('/api/account'), 401, 'UNAUTHENTICATED')
  assert.deepEqual(JSON.parse(await done(service, 'owner', 'list', '--json')), [])
  assert.equal((await operate(service, 'owner', 'delete', 'ada')).code, 3)
})
