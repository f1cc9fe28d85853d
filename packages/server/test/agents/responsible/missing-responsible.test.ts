import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { randomTail } from '@countersign/protocol'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'
import { ChangeWatcher } from '../change-table.ts'
import { AcmeWorld, AGENTS } from './with-organisation.ts'

const SETTINGS = '/api/account/organisation'

async function setDays(world: AcmeWorld, days: number | null): Promise<void> {
  const admin = await world.signIn(world.acme.admin)
  const body = { suspendWithoutResponsibleAfterDays: days }
  const answer = await admin.send('PATCH', SETTINGS, body)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(jsonOf(await admin.get(SETTINGS)), body)
}

async function titles(world: AcmeWorld): Promise<string[]> {
  return (await world.notices()).map(({ title }) => title)
}

const ONE = '1 agent has no responsible person'
const SUSPENDED = '1 agent without a responsible person was suspended'

test('managers are told at once, after a week and a day before agents without a responsible person are suspended', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service } = world
  const grace = await acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  const kept = await world.claimBy(acme.admin)
  await world.end(grace)
  await world.advance(0)
  const [first] = await world.notices()
  assert.equal(first?.title, ONE)
  const date = new Date(world.clock.now() + 14 * 86_400_000)
  const day = date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  assert.match(first?.text ?? '', new RegExp(`Make a member .* suspended on ${day}`))

  const told: number[] = []
  for (let hour = 12; hour <= 14 * 24; hour += 12) {
    assert.equal((await world.agent(did)).status, 'active', `after ${hour - 12} hours`)
    const before = (await titles(world)).length
    await world.advance(12)
    if ((await titles(world)).length > before) told.push(hour)
  }
  assert.deepEqual(told, [7 * 24, 13 * 24, 14 * 24])
  assert.deepEqual(await titles(world), [ONE, ONE, ONE, SUSPENDED])
  const agent = await world.agent(did)
  assert.deepEqual(
    [agent.status, agent.statusReason, agent.statusSetBy],
    ['suspended', 'owner_lost', 'service'],
  )
  assert.equal((await world.agent(kept)).status, 'active')

  // The public sees the reason and the day.
  const published = jsonOf(await ask(service, `/api/agents/${did}`))
  const today = new Date(world.clock.now()).toISOString().slice(0, 10)
  assert.deepEqual(
    [published.status, published.statusReason, published.statusChangedAt],
    ['suspended', 'owner_lost', `${today}T00:00:00.000Z`],
  )
  const kinds = await world.db.read.selectFrom('notifications').select('kind').execute()
  assert.ok(kinds.every(({ kind }) => kind !== 'agent_suspended'))
})

test('the suspension leaves an event, an entry in the log, and suspends the certificate', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service, clock } = world
  const grace = await acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await certificateOf(service, did)
  const watcher = new ChangeWatcher(service, did, clock.now)
  await watcher.skip()
  await setDays(world, 1)
  await world.end(grace)
  await world.advance(0)
  const types = ['agent.suspended', 'agent.grade_changed'] as const
  const expected = { types, by: 'service', isBulk: true, entry: 'suspended' } as const
  await watcher.expect(expected, () => world.advance(25))
})

test('a suspended agent is reactivated only after somebody is responsible for it, and never by itself', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme } = world
  const grace = await acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await setDays(world, 1)
  await world.end(grace)
  await world.advance(0)
  await world.advance(25)
  assert.equal((await world.agent(did)).statusReason, 'owner_lost')
  const admin = await world.signIn(acme.admin)
  const reactivate = () => admin.post(`${AGENTS}/${did}/reactivate`)
  assertRefused(await reactivate(), 409, 'CONFLICT', /responsible person/)
  const responsible = acme.admin.membership
  assert.equal((await admin.send('PATCH', `${AGENTS}/${did}`, { responsible })).status, 200)
  await world.advance(48)
  assert.equal((await world.agent(did)).status, 'suspended')
  assert.equal(jsonOf(await reactivate()).status, 'active')
  await world.advance(24 * 20)
  assert.equal((await world.agent(did)).status, 'active')
})

test('an agent that somebody else takes over in time is not suspended', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme } = world
  const grace = await acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await world.end(grace)
  await world.advance(24 * 10)
  const admin = await world.signIn(acme.admin)
  const responsible = acme.admin.membership
  assert.equal((await admin.send('PATCH', `${AGENTS}/${did}`, { responsible })).status, 200)
  await world.advance(24 * 30)
  assert.equal((await world.agent(did)).status, 'active')
  const jobs = await world.db.read.selectFrom('jobs').select('id').execute()
  assert.deepEqual(jobs, [])
})

test('an organisation that suspends none is told each month', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await setDays(world, null)
  await world.end(grace)
  await world.advance(0)
  for (let day = 0; day < 95; day += 5) await world.advance(24 * 5)
  assert.equal((await world.agent(did)).status, 'active')
  const notices = await world.notices()
  assert.deepEqual(
    notices.map(({ title }) => title),
    [ONE, ONE, ONE, ONE],
  )
  assert.ok(notices.every(({ text }) => !text.includes('suspended')))
})

test('a shorter time, or a service that was down, suspends nothing sooner than a day after its notice', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await setDays(world, 90)
  await world.end(grace)
  await world.advance(24 * 20)
  await setDays(world, 3)
  await world.advance(0)
  assert.deepEqual(await titles(world), [ONE, ONE])
  await world.advance(23)
  assert.equal((await world.agent(did)).status, 'active')
  await world.advance(2)
  assert.equal((await world.agent(did)).status, 'suspended')
})

test('a longer time withdraws a suspension that was announced', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await world.end(grace)
  await world.advance(0)
  await world.advance(24 * 13)
  await setDays(world, 30)
  await world.advance(24 * 15)
  assert.equal((await world.agent(did)).status, 'active')
  await world.advance(24 * 2)
  await world.advance(24)
  assert.equal((await world.agent(did)).status, 'suspended')
})

test('an agent that a manager left to nobody is suspended too, and they are reminded twice', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  const edited = await grace.send('PATCH', `${AGENTS}/${did}`, { responsible: null })
  assert.equal(edited.status, 200)
  await world.advance(0)
  assert.deepEqual(await titles(world), [])
  await world.advance(24 * 7)
  await world.advance(24 * 6)
  assert.deepEqual(await titles(world), [ONE, ONE])
  await world.advance(24)
  assert.deepEqual(await titles(world), [ONE, ONE, SUSPENDED])
  assert.equal((await world.agent(did)).statusReason, 'owner_lost')
})

test('an agent that was suspended for another reason at that time does not stay active later', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme } = world
  const grace = await acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  await setDays(world, 1)
  const admin = await world.signIn(acme.admin)
  assert.equal((await admin.post(`${AGENTS}/${did}/suspend`, { reason: 'paused' })).status, 200)
  await world.end(grace)
  await world.advance(0)
  await world.advance(25)
  assert.equal((await world.agent(did)).statusReason, 'paused')
  assertRefused(await admin.post(`${AGENTS}/${did}/reactivate`), 409, 'CONFLICT')
  // What makes an agent active without asking its owner.
  await world.db.write((tx) => tx.db.updateTable('agents').set({ status: 'active' }).execute())
  await world.advance(24)
  assert.equal((await world.agent(did)).statusReason, 'owner_lost')
})

test('many agents are suspended 200 at a time, with one notification', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, db, clock } = world
  const grace = await acme.addMember('grace', 'manager')
  await db.write(async (tx) => {
    for (let i = 0; i < 450; i++) {
      const [seq, tail, public_key] = [tx.nextSeq(), randomTail(randomBytes), randomBytes(32)]
      const fixed = { seq, tail, public_key, agent_id: 'main', owner_id: acme.id }
      const claimed = { ...fixed, claimed_at: clock.now(), grade: 'C' } as const
      await insertAgent(tx, { ...claimed, responsible: grace.membership })
      const event = { seq, at: clock.now(), tail, ownerId: acme.id, payload: {} }
      // Not as claimed: these agents have no entry in the log for it.
      await appendAgentEvent(tx, { ...event, type: 'agent.updated' })
    }
  })
  await setDays(world, 1)
  assert.equal((await world.end(grace)).responsibleFor, 450)
  await world.advance(0)
  await world.advance(25)
  const suspended = await db.read
    .selectFrom('agents')
    .select('status_changed_at')
    .where('status_reason', '=', 'owner_lost')
    .orderBy('status_changed_at')
    .execute()
  const transactions = Map.groupBy(suspended, (each) => each.status_changed_at)
  assert.deepEqual(
    [...transactions.values()].map((each) => each.length),
    [200, 200, 50],
  )
  assert.deepEqual(await titles(world), [
    '450 agents have no responsible person',
    '450 agents without a responsible person were suspended',
  ])
})
