import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BulkStatus, Notifications } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { AGENTS, editAgent, newOwner, showAgent } from './with-agent.ts'

const BULK = `${AGENTS}/status`

async function claimSome(service: TestService, owner: SignedInOwner, count: number) {
  const dids: string[] = []
  for (let i = 0; i < count; i++) {
    dids.push(await claimAgent(service, owner.ownerId, newKey(), `build-${i}`))
  }
  return dids as [string, ...string[]]
}

/** The titles of the notifications about agents, newest first. */
async function titlesOf(owner: SignedInOwner): Promise<string[]> {
  const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
  return notifications.filter(({ kind }) => kind.startsWith('agent')).map(({ title }) => title)
}

test('a bulk change is one notification, by the name of the first agent', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const dids = await claimSome(service, owner, 5)
  await editAgent(owner, dids[0], { displayName: 'Travel assistant' })
  for (const status of ['suspended', 'revoked'] as const) {
    const answer = await owner.post(BULK, { agents: dids, status, reason: 'retired' })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(jsonOf<BulkStatus>(answer), { refused: [] })
    for (const did of dids) {
      const agent = await showAgent(owner, did)
      assert.deepEqual([agent.status, agent.statusReason], [status, 'retired'])
    }
  }
  assert.deepEqual(await titlesOf(owner), [
    '“Travel assistant” and 4 other agents: revoked by their owner',
    '“Travel assistant” and 4 other agents: suspended by their owner',
  ])
  const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
  assert.match(notifications[0]?.text ?? '', /^5 agents were revoked together\. Reason: retired\./)
  assert.equal(notifications[0]?.link, '/dashboard/agents')
})

test('agents that cannot have the status are refused by name, and the others change', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const stranger = await newOwner(service)
  const [first, second, third] = await claimSome(service, owner, 3)
  const theirs = await claimAgent(service, stranger.ownerId)
  await owner.post(`${AGENTS}/${second}/revoke`)
  await owner.post(`${AGENTS}/${third}/suspend`)
  const agents = [first, second, third, theirs]
  const answer = await owner.post(BULK, { agents, status: 'suspended' })
  assert.deepEqual(jsonOf<BulkStatus>(answer).refused, [
    {
      svcDid: second,
      code: 'VALIDATION_ERROR',
      message: 'An agent that is revoked cannot become suspended.',
    },
    { svcDid: theirs, code: 'NOT_FOUND', message: 'You have no agent with this DID.' },
  ])
  assert.equal((await showAgent(owner, first)).status, 'suspended')
  assert.equal((await showAgent(stranger, theirs)).status, 'active')
  assert.equal((await titlesOf(owner))[0], 'An agent: suspended by its owner', 'of one alone')
})

test('a key that is compromised revokes the other agents that have it', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const key = newKey()
  const one = await claimAgent(service, owner.ownerId, key, 'one')
  const two = await claimAgent(service, owner.ownerId, key, 'two')
  const body = { agents: [one, two], status: 'revoked', reason: 'key_compromised' }
  assert.deepEqual(jsonOf<BulkStatus>(await owner.post(BULK, body)), { refused: [] })
  for (const did of [one, two]) assert.equal((await showAgent(owner, did)).status, 'revoked')
  assert.deepEqual(await titlesOf(owner), ['2 agents: revoked by their owner'])
})

test('it takes 1 to 200 DIDs, each once, of a session', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const [did] = await claimSome(service, owner, 1)
  const many = Array.from(
    { length: 201 },
    (_, i) =>
      `svc:agent:${String(i + 111)
        .replaceAll('0', 'z')
        .padStart(24, '1')}`,
  )
  for (const body of [
    { agents: [], status: 'revoked' },
    { agents: many, status: 'revoked' },
    { agents: [did, did], status: 'revoked' },
    { agents: [did], status: 'active' },
    { agents: ['ada'], status: 'revoked' },
    { agents: [did], status: 'revoked', reason: 'Two words' },
  ]) {
    const answer = await unchanged(service, () => owner.post(BULK, body))
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  assert.equal((await showAgent(owner, did)).status, 'active')
})
