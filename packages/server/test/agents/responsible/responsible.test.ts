import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerAgents } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { claimAgent } from '../../../../../test/support/service.ts'
import { AcmeWorld, AGENTS } from './with-organisation.ts'

function didsOf(answer: Answer): string[] {
  return jsonOf<OwnerAgents>(answer).agents.map((each) => String(Object(each).svcDid))
}

test('the member whose claim token an agent used is responsible for it, and a person has no responsible person', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  const did = await world.claimBy(grace)
  const responsible = { id: grace.membership, displayName: 'Owner grace' }
  const shown = jsonOf(await grace.get(`${AGENTS}/${did}`))
  assert.deepEqual(shown.responsible, responsible)
  const listed = jsonOf<OwnerAgents>(await world.acme.admin.get(AGENTS))
  assert.deepEqual(
    listed.agents.map((each) => each.responsible),
    [responsible],
  )
  const own = await claimAgent(world.service, grace.ownerId)
  assert.equal(jsonOf(await grace.self.get(`${AGENTS}/${own}`)).responsible, null)
  const { members } = jsonOf<{ members: { id: string; responsibleFor: number }[] }>(
    await grace.get('/api/account/members'),
  )
  assert.equal(members.find(({ id }) => id === grace.membership)?.responsibleFor, 1)
})

test('a claim token of an API key makes its maker responsible', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  const body = { name: 'CI', scopes: ['claim_tokens:create', 'agents:read'] }
  const { secret } = jsonOf<{ secret: string }>(await grace.post('/api/account/api-keys', body))
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const send = (method: string, target: string, text?: string) =>
    ask(world.service, target, { method, headers, ...(text && { body: text }) })
  const key = { ...grace, post: (target: string) => send('POST', target, '{}') }
  const did = await world.claimBy(key)
  const { responsible } = jsonOf<{ responsible: { id: string } }>(
    await send('GET', `${AGENTS}/${did}`),
  )
  assert.equal(responsible.id, grace.membership)
})

test('a manager makes another member responsible, or nobody, which nobody outside sees', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service, db } = world
  const grace = await acme.addMember('grace', 'manager')
  const viewer = await acme.addMember('alan', 'viewer')
  const did = await world.claimBy(grace)
  const path = `${AGENTS}/${did}`
  const published = async () => {
    const paths = ['api/v1/agent/', 'api/agents/']
    return Promise.all(paths.map(async (each) => (await ask(service, `/${each}${did}`)).text))
  }
  const row = async () => {
    const { responsible: _, ...rest } = await db.read
      .selectFrom('agents')
      .selectAll()
      .executeTakeFirstOrThrow()
    return rest
  }
  const before = { row: await row(), published: await published() }
  const count = async () => (await db.read.selectFrom('events').select('seq').execute()).length
  const events = await count()

  const named = await grace.send('PATCH', path, { responsible: viewer.membership })
  const responsible = { id: viewer.membership, displayName: 'Owner alan' }
  assert.deepEqual(jsonOf(named).responsible, responsible)
  const by = (id: string) => acme.admin.get(`${AGENTS}?responsible=${id}`)
  assert.deepEqual(didsOf(await by(viewer.membership)), [did])
  assert.deepEqual(didsOf(await by(grace.membership)), [])
  assert.deepEqual(didsOf(await by('none')), [])

  const taken = await grace.send('PATCH', path, { responsible: null })
  assert.equal(jsonOf(taken).responsible, null)
  assert.deepEqual(didsOf(await by('none')), [did])
  assert.deepEqual({ row: await row(), published: await published() }, before)
  assert.equal(await count(), events)
  const actions = await db.read
    .selectFrom('member_actions')
    .select(['membership', 'operation'])
    .where('operation', '=', 'editAgent')
    .execute()
  assert.deepEqual(
    actions.map(({ membership }) => membership),
    [grace.membership, grace.membership],
  )
})

test('only a live member of the organisation can be responsible, and only a manager says so', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service } = world
  const grace = await acme.addMember('grace', 'manager')
  const responder = await acme.addMember('ada', 'responder')
  const leaver = await acme.addMember('alan', 'admin')
  await world.end(leaver)
  const other = await createOrganisation(service, 'other')
  const did = await world.claimBy(grace)
  const edit = (who: typeof grace, responsible: string | null) =>
    who.send('PATCH', `${AGENTS}/${did}`, { responsible })
  for (const id of [leaver.membership, other.admin.membership, `mb_${'1'.repeat(12)}`]) {
    assertRefused(await edit(grace, id), 400, 'VALIDATION_ERROR', /no member/)
  }
  assertRefused(await edit(grace, 'mb_0'), 400, 'VALIDATION_ERROR')
  assertRefused(await edit(responder, grace.membership), 403, 'FORBIDDEN')
  assert.equal(jsonOf(await edit(grace, responder.membership)).displayName !== undefined, true)
  const own = await claimAgent(service, grace.ownerId)
  for (const responsible of [null, grace.membership]) {
    const answer = await grace.self.send('PATCH', `${AGENTS}/${own}`, { responsible })
    assertRefused(answer, 400, 'VALIDATION_ERROR', /organisations/)
  }
})

test('a member who leaves is responsible for nothing, and who comes back neither', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme } = world
  const grace = await acme.addMember('grace', 'manager')
  const dids = [await world.claimBy(grace), await world.claimBy(grace)]
  const kept = await world.claimBy(acme.admin)
  const { responsibleFor } = await world.end(grace)
  assert.equal(responsibleFor, 2)
  assert.equal((await world.agent(dids[0] as string)).responsible, null)
  const listed = await acme.admin.get(`${AGENTS}?responsible=none`)
  assert.deepEqual(didsOf(listed).toSorted(), dids.toSorted())
  assert.equal((await world.agent(kept)).responsible?.id, acme.admin.membership)
  await world.db.write(async (tx) => {
    const row = await tx.db
      .selectFrom('memberships')
      .selectAll()
      .where('id', '=', grace.membership)
      .executeTakeFirstOrThrow()
    const back = { ...row, id: `mb_${'2'.repeat(12)}`, ended_at: null, end_reason: null }
    await tx.db.insertInto('memberships').values(back).execute()
  })
  assert.equal((await world.agent(dids[0] as string)).responsible, null)
})
