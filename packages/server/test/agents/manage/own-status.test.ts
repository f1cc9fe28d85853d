import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lookup } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { AGENTS, agentIn, showAgent, startWithAgent } from './with-agent.ts'

test('an owner suspends, reactivates and revokes, and lookups show it at once', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const steps = [
    ['suspend', { reason: 'maintenance' }, 'suspended', false],
    ['reactivate', {}, 'active', true],
    ['suspend', { reason: null }, 'suspended', false],
    ['revoke', { reason: 'key_compromised' }, 'revoked', false],
  ] as const
  for (const [verb, body, status, verified] of steps) {
    const agent = agentIn(await owner.post(`${AGENTS}/${did}/${verb}`, body))
    const reason = 'reason' in body ? body.reason : null
    assert.deepEqual(
      [agent.status, agent.statusReason, agent.statusSetBy],
      [status, reason, 'owner'],
    )
    assert.deepEqual(await showAgent(owner, did), agent)
    const lookup = jsonOf<Lookup>(await ask(service, `/api/v1/agent/${did}`))
    assert.deepEqual([lookup.certificate.status, lookup.verified], [status, verified])
  }
})

test('invalid status transitions are rejected, and revoked is final', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const refuse = async (verb: string, body: object = {}) => {
    const answer = await unchanged(service, () => owner.post(`${AGENTS}/${did}/${verb}`, body))
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  await refuse('reactivate')
  for (const reason of ['', 'Two words', 'Upper', '1st', 'x'.repeat(65), 7]) {
    await refuse('suspend', { reason })
  }
  await refuse('suspend', { status: 'revoked' })
  agentIn(await owner.post(`${AGENTS}/${did}/suspend`))
  await refuse('suspend')
  agentIn(await owner.post(`${AGENTS}/${did}/revoke`))
  for (const verb of ['suspend', 'reactivate', 'revoke']) await refuse(verb)
})

test('an owner can revoke, but not reactivate, an agent that the operator suspended', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  await setStatus(service, did, 'suspended', 'abuse', 'operator')
  assert.equal((await showAgent(owner, did)).statusSetBy, 'operator')
  const answer = await unchanged(service, () => owner.post(`${AGENTS}/${did}/reactivate`))
  assertRefused(answer, 403, 'FORBIDDEN', /operator/)
  await setStatus(service, did, 'active', null, 'operator')
  agentIn(await owner.post(`${AGENTS}/${did}/suspend`))
  agentIn(await owner.post(`${AGENTS}/${did}/reactivate`))
  await setStatus(service, did, 'suspended', 'abuse', 'operator')
  assert.equal(agentIn(await owner.post(`${AGENTS}/${did}/revoke`)).status, 'revoked')
})

test('of concurrent revocations one succeeds, with one event and one grade event', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const answers = await Promise.all(
    Array.from({ length: 25 }, () => owner.post(`${AGENTS}/${did}/revoke`)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  const { read } = service.operator.db
  const events = await read.selectFrom('events').select('type').orderBy('seq').execute()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['owner.identity_verified', 'agent.claimed', 'agent.revoked', 'agent.grade_changed'],
  )
})
