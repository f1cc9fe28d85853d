import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndedAccess } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { ParallelClient } from '../../../../../test/support/parallel-client.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { claimBody } from '../../../../../test/support/service.ts'
import { startReceiver } from '../../webhooks/support/receiver.ts'
import { WEBHOOKS } from '../../webhooks/support/webhook-world.ts'
import { recoverWith, startRecovery } from '../keys/with-keys.ts'
import { AcmeWorld, AGENTS } from './with-organisation.ts'

/** Long enough ago to start recoveries. */
function longAgo(world: AcmeWorld): number {
  return world.clock.now() - 100 * 3_600_000
}

test('the claim tokens that a leaver left unused are void, and those of others are not', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service } = world
  const grace = await acme.addMember('grace', 'manager')
  await world.claimBy(grace)
  const issued = await grace.post('/api/agents/tokens', { count: 3 })
  assert.equal(issued.status, 201, issued.text)
  const { claimTokens } = jsonOf<{ claimTokens: string[] }>(issued)
  const others = await world.issueToken(acme.admin)
  const { tokensEnded } = await world.end(grace)
  assert.equal(tokensEnded, 3)
  for (const token of claimTokens) {
    const claimed = await post(service, '/api/v1/claim', claimBody(token))
    assertRefused(claimed, 410, 'TOKEN_EXPIRED', /has left/)
  }
  assert.equal((await post(service, '/api/v1/claim', claimBody(others))).status, 200)
})

test('tokens that have expired do not count as ended', async (t) => {
  const world = await AcmeWorld.start(t)
  const grace = await world.acme.addMember('grace', 'manager')
  await world.issueToken(grace)
  world.clock.advance(1)
  assert.equal((await world.end(grace)).tokensEnded, 0)
})

test('the recoveries that a leaver started end, a burned key stays burned, and others go on', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service } = world
  const grace = await acme.addMember('grace', 'manager', longAgo(world))
  const heidi = await acme.addMember('heidi', 'manager', longAgo(world))
  const [lost, burned, kept] = [
    await world.claimBy(grace),
    await world.claimBy(grace),
    await world.claimBy(grace),
  ]
  const [leaver, stays] = [await world.signIn(grace), await world.signIn(heidi)]
  const token = await startRecovery(leaver, lost, 'key_lost')
  await startRecovery(leaver, burned, 'key_compromised')
  const other = await startRecovery(stays, kept, 'key_lost')
  assert.equal((await world.end(grace)).recoveriesEnded, 2)

  const next = newKey()
  const refused = await recoverWith(service, lost, { token, next, sequence: 2 }, world.clock.signed)
  assertRefused(refused, 404, 'NOT_FOUND')
  const redeemed = { token: other, next, sequence: 2 }
  assert.equal((await recoverWith(service, kept, redeemed, world.clock.signed)).status, 200)
  for (const did of [lost, burned]) {
    const history = jsonOf<{ events: { type: string; facts: { reason?: string } }[] }>(
      await stays.get(`${AGENTS}/${did}/history`),
    )
    const ended = history.events.find(({ type }) => type === 'agent.key_recovery_cancelled')
    assert.deepEqual(ended?.facts, { reason: 'member_left' })
  }
  const agent = await world.agent(burned)
  assert.deepEqual([agent.status, agent.statusReason], ['suspended', 'key_compromised'])
})

test('a new key that a leaver’s recovery token has brought in does not take effect', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service, clock } = world
  const grace = await acme.addMember('grace', 'manager', longAgo(world))
  const did = await world.claimBy(grace)
  const token = await startRecovery(await world.signIn(grace), did, 'key_lost')
  const redeemed = { token, next: newKey(), sequence: 2 }
  assert.equal((await recoverWith(service, did, redeemed, clock.signed)).status, 200)
  assert.equal((await world.end(grace)).recoveriesEnded, 1)
  await world.advance(100)
  const row = await world.db.read
    .selectFrom('agents')
    .select('key_sequence')
    .executeTakeFirstOrThrow()
  assert.equal(row.key_sequence, 1)
})

test('no member gets a token for the recovery of another, who could leave with a key in it', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme } = world
  const grace = await acme.addMember('grace', 'manager', longAgo(world))
  const heidi = await acme.addMember('heidi', 'manager', longAgo(world))
  const did = await world.claimBy(grace)
  const [first, second] = [await world.signIn(grace), await world.signIn(heidi)]
  await startRecovery(first, did, 'key_lost')
  const path = `${AGENTS}/${did}/recovery`
  assertRefused(await second.post(`${path}/token`), 409, 'CONFLICT', /another member/i)
  assert.equal((await first.post(`${path}/token`)).status, 201)
  assert.equal((await second.send('DELETE', path)).status, 204)
  await startRecovery(second, did, 'key_lost')
})

test('a lower role ends the claim tokens and recoveries that it does not allow', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service } = world
  const grace = await acme.addMember('grace', 'admin', longAgo(world))
  const did = await world.claimBy(grace)
  const signedIn = await world.signIn(grace)
  const recovery = await startRecovery(signedIn, did, 'key_lost')
  const issued = await grace.post('/api/agents/tokens', { count: 2 })
  const { claimTokens } = jsonOf<{ claimTokens: string[] }>(issued)
  const [used = '', left = ''] = claimTokens
  const lower = async (role: string) => {
    const path = `/api/account/members/${grace.membership}`
    const { tokensEnded, recoveriesEnded, responsibleFor } = jsonOf<EndedAccess>(
      await acme.admin.send('PATCH', path, { role }),
    )
    return { tokensEnded, recoveriesEnded, responsibleFor }
  }
  // A manager may have both.
  assert.deepEqual(await lower('manager'), {
    tokensEnded: 0,
    recoveriesEnded: 0,
    responsibleFor: 0,
  })
  assert.equal((await post(service, '/api/v1/claim', claimBody(used))).status, 200)
  assert.deepEqual(await lower('responder'), {
    tokensEnded: 1,
    recoveriesEnded: 1,
    responsibleFor: 0,
  })
  assertRefused(await post(service, '/api/v1/claim', claimBody(left)), 410, 'TOKEN_EXPIRED')
  const redeemed = { token: recovery, next: newKey(), sequence: 2 }
  assertRefused(await recoverWith(service, did, redeemed, world.clock.signed), 404, 'NOT_FOUND')
  // A member of any role can be responsible.
  assert.equal((await world.agent(did)).responsible?.id, grace.membership)
})

test('webhooks and grant issuers that a leaver created go on, and are listed for review', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme } = world
  const grace = await acme.addMember('grace', 'manager')
  const webhook = { url: (await startReceiver(t)).url }
  const made = await Promise.all(
    [grace, acme.admin].map(async (member) => ({
      webhook: jsonOf(await member.post(WEBHOOKS, webhook)).id as string,
      issuer: jsonOf(await member.post('/api/account/grant-issuers', { name: 'CI' })).id as string,
    })),
  )
  const [mine] = made
  const { toReview } = await world.end(grace)
  assert.deepEqual(toReview, {
    webhooks: [mine?.webhook],
    grantIssuers: [mine?.issuer],
    enrolmentRules: [],
  })
  const { webhooks } = jsonOf<{ webhooks: { id: string; state: string }[] }>(
    await acme.admin.get(WEBHOOKS),
  )
  assert.deepEqual(webhooks.map(({ state }) => state).toSorted(), ['active', 'active'])
  const { issuers } = jsonOf<{ issuers: unknown[] }>(
    await acme.admin.get('/api/account/grant-issuers'),
  )
  assert.equal(issuers.length, 2)
})

test('60 claims race the removal of the tokens’ issuer: agents without a responsible person, or 410', async (t) => {
  const world = await AcmeWorld.start(t)
  const { acme, service, db } = world
  const client = new ParallelClient(service, t)
  for (let round = 0; round < 4; round++) {
    const member = await acme.addMember(`member-${round}`, 'manager')
    const issued = await member.post('/api/agents/tokens', { count: 60 })
    const { claimTokens } = jsonOf<{ claimTokens: string[] }>(issued)
    assert.equal(claimTokens.length, 60, issued.text)
    const bodies = claimTokens.map((token) => claimBody(token))
    // In the first rounds, some claims come before the removal begins.
    const early = client.postAll('/api/v1/claim', bodies.slice(0, 20))
    if (round < 2) await early
    const late = client.postAll('/api/v1/claim', bodies.slice(20))
    const ended = await world.end(member)
    const answers = [...(await early), ...(await late)]
    const claimed = answers.filter(({ status }) => status === 200).length
    for (const answer of answers) {
      if (answer.status !== 200) assertRefused(answer, 410, 'TOKEN_EXPIRED', /has left/)
    }
    assert.deepEqual([ended.responsibleFor, ended.tokensEnded], [claimed, 60 - claimed])
    const row = await db.read
      .selectFrom('agents')
      .select((eb) => eb.fn.countAll().as('count'))
      .where('responsible', '=', member.membership)
      .executeTakeFirstOrThrow()
    assert.equal(Number(row.count), claimed)
  }
  const { agents } = jsonOf<{ agents: { responsible: unknown }[] }>(await acme.admin.get(AGENTS))
  assert.ok(agents.every(({ responsible }) => responsible === null))
})

test('the metric counts agents of organisations that nobody is responsible for', async (t) => {
  const world = await AcmeWorld.start(t, { METRICS_PORT: String(await freePort()) })
  const { acme, service } = world
  const grace = await acme.addMember('grace', 'manager')
  const metric = async () => {
    const metrics = await fetch(`http://localhost:${service.env.METRICS_PORT}/metrics`)
    return /^countersign_agents_without_responsible (\d+)$/m.exec(await metrics.text())?.[1]
  }
  const [first, second, revoked] = [
    await world.claimBy(grace),
    await world.claimBy(acme.admin),
    await world.claimBy(grace),
  ]
  await world.claimBy(acme.admin)
  assert.equal(await metric(), '0')
  await acme.admin.send('PATCH', `${AGENTS}/${second}`, { responsible: null })
  assert.equal(await metric(), '1')
  await world.end(grace)
  assert.equal(await metric(), '3')
  await acme.admin.post(`${AGENTS}/${revoked}/revoke`)
  assert.equal(await metric(), '2')
  const responsible = acme.admin.membership
  await acme.admin.send('PATCH', `${AGENTS}/${first}`, { responsible })
  assert.equal(await metric(), '1')
})
