import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Activity } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { recordAccountActivity } from '../../../src/accounts/account-activity-table.ts'
import { appendEvent } from '../../../src/database/event-table.ts'
import { AGENTS, editAgent, newOwner, startWithAgent } from './with-agent.ts'

async function activity(owner: SignedInOwner, query = ''): Promise<Activity> {
  const answer = await owner.get(`/api/account/activity${query}`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Activity>(answer)
}

test('the activity of an account', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const second = await claimAgent(service, owner.ownerId, newKey(), 'private label')
  const stranger = await newOwner(service, 'grace')
  const foreign = await claimAgent(service, stranger.ownerId, newKey())

  await t.test('has the events of all agents and of the account, newest first', async () => {
    await editAgent(owner, did, { displayName: 'Desk' })
    await editAgent(stranger, foreign, { displayName: 'Foreign' })
    await setStatus(service, second, 'suspended', 'abuse')
    const { events, next } = await activity(owner)
    assert.equal(next, null)
    assert.deepEqual(
      events.map(({ type, agent }) => [type, agent?.svcDid ?? null]),
      [
        ['agent.grade_changed', second],
        ['agent.suspended', second],
        ['agent.updated', did],
        ['agent.claimed', second],
        ['agent.claimed', did],
        ['owner.signed_in', null],
        ['owner.identity_verified', null],
      ],
    )
    const { agent } = events[2] as Activity['events'][number]
    assert.deepEqual(agent, { svcDid: did, displayName: 'Desk', status: 'active' })
    assert.doesNotMatch(JSON.stringify(events), /private label|Foreign/)
  })

  await t.test('is filtered by kind', async () => {
    const typesOf = async (kind: string) =>
      (await activity(owner, `?kind=${kind}`)).events.map(({ type }) => type)
    assert.deepEqual(await typesOf('owner'), ['owner.signed_in', 'owner.identity_verified'])
    assert.deepEqual(await typesOf('channel'), [])
    assert.equal((await typesOf('agent')).length, 5)
    assertRefused(await owner.get('/api/account/activity?kind=all'), 400, 'VALIDATION_ERROR')
  })

  await t.test('has the display names of identity providers', async () => {
    const { events } = await activity(owner)
    const verified = events.find(({ type }) => type === 'owner.identity_verified')
    assert.equal(verified?.facts.provider, 'in-person')
    assert.equal(verified.providerLabel, 'In person')
    assert.ok(events.every((each) => each === verified || each.providerLabel === null))

    const details = { method: 'provider', provider: 'github' }
    await service.operator.db.write((tx) =>
      recordAccountActivity(tx, {
        ownerId: stranger.ownerId,
        type: 'owner.signed_in',
        details,
        at: Date.now(),
      }),
    )
    const [latest] = (await activity(stranger)).events
    assert.deepEqual(latest?.facts, details)
    assert.equal(latest.providerLabel, 'github', 'no longer configured: its id')
  })

  await t.test('comes in pages of 50, each event once, whatever its source', async () => {
    for (let i = 0; i < 60; i++) {
      if (i % 3 === 0) await claimAgent(service, owner.ownerId, newKey())
      else if (i % 3 === 1) await editAgent(owner, did, { displayName: `Name ${i}` })
      else {
        await service.operator.db.write((tx) =>
          appendEvent(tx, {
            seq: tx.nextSeq(),
            at: Date.now(),
            type: 'owner.updated',
            tail: null,
            ownerId: owner.ownerId,
            payload: {},
          }),
        )
      }
    }
    const numbers: number[] = []
    const sizes: number[] = []
    for (let next: string | null = ''; next !== null; ) {
      const page: Activity = await activity(owner, next === '' ? '' : `?before=${next}`)
      numbers.push(...page.events.flatMap(({ seq }) => seq ?? []))
      sizes.push(page.events.length)
      next = page.next
    }
    assert.deepEqual(sizes, [50, 17])
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => b - a),
    )
    assertRefused(await owner.get('/api/account/activity?before=x'), 400, 'VALIDATION_ERROR')
    assertRefused(await ask(service, '/api/account/activity'), 401, 'UNAUTHENTICATED')
  })
})

test('the onboarding steps turn true one by one, and the next one names its agent', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const path = '/api/account/onboarding'
  const steps = async () => jsonOf(await owner.get(path))
  const start = { verified: true, claimed: true, named: false, channel: false, badge: false }
  assert.deepEqual(await steps(), { ...start, hidden: false, agent: did })

  const unnamed = await claimAgent(service, owner.ownerId, newKey())
  assert.equal((await steps()).agent, unnamed)
  await editAgent(owner, did, { displayName: 'Desk' })
  assert.deepEqual(await steps(), { ...start, named: true, hidden: false, agent: did })

  const place = { kind: 'domain', handle_or_domain: 'agents.example', tier: 2 } as const
  await service.operator.db.write((tx) => insertProvenChannel(tx, did.slice(-24), place))
  const patched = await owner.send('PATCH', path, { badge: true, hidden: true })
  const done = { verified: true, claimed: true, named: true, channel: true, badge: true }
  assert.deepEqual(jsonOf(patched), { ...done, hidden: true, agent: did })
  await owner.send('PATCH', path, { hidden: false })
  assert.deepEqual(await steps(), { ...done, hidden: false, agent: did })

  for (const each of [did, unnamed]) await owner.post(`${AGENTS}/${each}/revoke`)
  const { named, channel, agent } = await steps()
  assert.deepEqual([named, channel, agent], [false, false, null])
  assertRefused(await owner.send('PATCH', path, {}), 400, 'VALIDATION_ERROR')
  assertRefused(await owner.send('PATCH', path, { badge: false }), 400, 'VALIDATION_ERROR')

  const newcomer = await newOwner(service, 'grace')
  const nothing = { claimed: false, named: false, channel: false, badge: false, agent: null }
  assert.deepEqual(jsonOf(await newcomer.get(path)), {
    ...nothing,
    verified: true,
    hidden: false,
  })
})
