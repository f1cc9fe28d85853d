import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentStatus, Tail } from '@countersign/protocol'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'

test('an owner can reactivate an agent they suspended, and not one that the operator suspended', async (t) => {
  const { tail, change, status } = await agent(t)
  await change({ tail, to: 'suspended', by: 'operator' })
  await assert.rejects(change({ tail, to: 'active', by: 'owner' }), { code: 'FORBIDDEN' })
  assert.equal(await status(), 'suspended')
  await change({ tail, to: 'active', by: 'operator' })
  await change({ tail, to: 'suspended', by: 'owner' })
  await change({ tail, to: 'active', by: 'owner' })
  assert.equal(await status(), 'active')
})

test('of concurrent revocations of an agent one succeeds, with one event and one grade event', async (t) => {
  const { tail, change, events } = await agent(t)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 25 }, () => change({ tail, to: 'revoked', by: 'owner' })),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.deepEqual(await events(), [
    'owner.identity_verified',
    'agent.claimed',
    'agent.revoked',
    'agent.grade_changed',
  ])
})

async function agent(t: { after(end: () => unknown): void }) {
  const service = await startTestService(t)
  const { db } = service.operator
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const tail = did.slice(-24) as Tail
  const change = (request: { tail: Tail; to: AgentStatus; by: 'owner' | 'operator' }) =>
    changeStatus({ db, now: Date.now }, { ...request, reason: null })
  const status = async () =>
    (await db.read.selectFrom('agents').select('status').executeTakeFirstOrThrow()).status
  const events = async () =>
    (await db.read.selectFrom('events').select('type').orderBy('seq').execute()).map(
      ({ type }) => type,
    )
  return { tail, change, status, events }
}
