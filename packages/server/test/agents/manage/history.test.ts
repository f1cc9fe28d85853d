import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentHistory } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { AGENTS, editAgent, startWithAgent } from './with-agent.ts'

async function listHistory(owner: SignedInOwner, did: string, query = ''): Promise<AgentHistory> {
  const answer = await owner.get(`${AGENTS}/${did}/history${query}`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<AgentHistory>(answer)
}

test('the history lists each change of the agent, newest first, with public data only', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const other = await claimAgent(service, owner.ownerId, newKey(), 'private label')
  await editAgent(owner, did, { displayName: 'Desk', username: 'desk' })
  await editAgent(owner, other, { displayName: 'Other' })
  await editAgent(owner, did, { displayName: null, username: 'desk' })
  await setStatus(service, did, 'suspended', 'abuse')
  await owner.post(`${AGENTS}/${did}/revoke`, { reason: 'retired' })

  const { events, next } = await listHistory(owner, did)

  assert.equal(next, null)
  assert.deepEqual(
    events.map(({ type, facts }) => [type, type === 'agent.claimed' ? Object.keys(facts) : facts]),
    [
      ['agent.revoked', { status: 'revoked', reason: 'retired' }],
      ['agent.grade_changed', { from: 'C', to: 'E' }],
      ['agent.suspended', { status: 'suspended', reason: 'abuse' }],
      ['agent.updated', { displayName: null }],
      ['agent.updated', { displayName: 'Desk', username: 'desk' }],
      ['agent.claimed', ['publicKey']],
    ],
  )
  for (const { at } of events) assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  const { events: others } = await listHistory(owner, other)
  assert.deepEqual(
    others.map(({ type }) => type),
    ['agent.updated', 'agent.claimed'],
  )
  assert.doesNotMatch(JSON.stringify([events, others]), /private label/)
})

test('a long history comes in pages of 50, each event once, the claim last', async (t) => {
  for (const edits of [49, 50, 99]) {
    const { owner, did } = await startWithAgent(t)
    for (let i = 0; i < edits; i++) await editAgent(owner, did, { displayName: `Name ${i}` })
    const numbers: number[] = []
    let last = ''
    for (let next: string | null = ''; next !== null; ) {
      const page = await listHistory(owner, did, next === '' ? '' : `?before=${next}`)
      numbers.push(...page.events.map(({ seq }) => seq))
      last = page.events.at(-1)?.type ?? 'none'
      next = page.next
    }
    assert.equal(numbers.length, edits + 1)
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => b - a),
    )
    assert.equal(last, 'agent.claimed')
  }
})

test('a malformed page cursor is rejected', async (t) => {
  const { owner, did } = await startWithAgent(t)
  for (const query of ['?before=x', '?before=-1', '?before=', '?after=1']) {
    assertRefused(await owner.get(`${AGENTS}/${did}/history${query}`), 400, 'VALIDATION_ERROR')
  }
})
