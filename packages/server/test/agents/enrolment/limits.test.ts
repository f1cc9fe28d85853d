import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolmentRule } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { endEnrolment, newPlatform, ruleFor } from '../../../../../test/support/platform.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { didIn, enrolBy, newOwner, newRule, ownAgent, RULES } from './with-rules.ts'

test('new agents of an owner are limited, renewals are not, and metrics count both', async (t) => {
  const clock = new TestClock()
  const env = { RATE_LIMITS: 'enrolments=2/h', METRICS_PORT: String(await freePort()) }
  const service = await startTestService(t, env, clock.now)
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform))
  const other = await newRule(owner, ruleFor(platform, { name: 'other' }))
  const key = newKey()
  const did = didIn(await enrolBy(service, platform, rule, key, clock.now))
  didIn(await enrolBy(service, platform, other, newKey(), clock.now))
  assertRefused(
    await enrolBy(service, platform, rule, newKey(), clock.now),
    429,
    'RATE_LIMITED',
    /limit/,
  )
  for (let i = 0; i < 5; i++) didIn(await enrolBy(service, platform, rule, key, clock.now), 200)
  clock.advance(1.01)
  didIn(await enrolBy(service, platform, rule, newKey(), clock.now))
  const issuedAt = Math.floor(clock.now() / 1000)
  assert.equal((await endEnrolment(service, did, key, issuedAt)).status, 200)
  const text = await (await fetch(`http://localhost:${env.METRICS_PORT}/metrics`)).text()
  for (const line of [
    'countersign_enrolments_total{result="created"} 3',
    'countersign_enrolments_total{result="renewed"} 5',
    'countersign_enrolments_total{result="rate"} 1',
    'countersign_enrolled_agents 2',
    'countersign_enrolments_ended_total{by="agent"} 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), line)
  }
  const { lastRefusal } = jsonOf<{ lastRefusal: { check: string } }>(
    await owner.get(`${RULES}/${rule.id}`),
  )
  assert.equal(lastRefusal.check, 'rate')
})

test('rules of an organisation have the roles of the table, and those of who leaves are reviewed', async (t) => {
  const service = await startTestService(t)
  const organisation = await createOrganisation(service)
  await organisation.verify()
  const grace = await organisation.addMember('grace', 'manager')
  const alan = await organisation.addMember('alan', 'responder')
  const platform = newPlatform()
  const rule = await newRule(grace, ruleFor(platform))
  const at = `${RULES}/${rule.id}`
  assertRefused(await alan.post(RULES, ruleFor(platform)), 403, 'FORBIDDEN', /manager/)
  assertRefused(await alan.send('PATCH', at, { maxLive: 900 }), 403, 'FORBIDDEN', /manager/)
  assert.equal((await alan.post(`${at}/pause`)).status, 200)
  assertRefused(await alan.post(`${at}/resume`), 403, 'FORBIDDEN', /manager/)
  assert.equal((await grace.post(`${at}/resume`)).status, 200)
  const did = didIn(await enrolBy(service, platform, rule))
  const { admin } = organisation
  assert.equal((await ownAgent(admin, did)).responsible?.id, grace.membership)
  const removed = await admin.send('DELETE', `/api/account/members/${grace.membership}`)
  assert.equal(removed.status, 200, removed.text)
  const ended = jsonOf<{ toReview: { enrolmentRules: string[] } }>(removed)
  assert.deepEqual(ended.toReview.enrolmentRules, [rule.id])
  const later = didIn(await enrolBy(service, platform, rule))
  assert.equal((await ownAgent(admin, later)).responsible, null)
  const nobody = await admin.get('/api/account/agents?responsible=none')
  assert.equal(jsonOf<{ agents: object[] }>(nobody).agents.length, 2)
})

test('a manager makes another member responsible for a rule, and for the agents that it enrols then', async (t) => {
  const service = await startTestService(t)
  const organisation = await createOrganisation(service)
  await organisation.verify()
  const grace = await organisation.addMember('grace', 'manager')
  const alan = await organisation.addMember('alan', 'viewer')
  const stranger = await createOrganisation(service, 'other')
  const platform = newPlatform()
  const rule = await newRule(grace, ruleFor(platform))
  assert.deepEqual(rule.responsible, { id: grace.membership, displayName: 'Owner grace' })
  const at = `${RULES}/${rule.id}`
  const before = didIn(await enrolBy(service, platform, rule))
  const toAlan = { responsible: alan.membership }
  assertRefused(await alan.send('PATCH', at, toAlan), 403, 'FORBIDDEN', /manager/)
  const foreign = await grace.send('PATCH', at, { responsible: stranger.admin.membership })
  assertRefused(foreign, 400, 'VALIDATION_ERROR', /no member/)
  const changed = await grace.send('PATCH', at, toAlan)
  assert.equal(changed.status, 200, changed.text)
  const { responsible, match } = jsonOf<EnrolmentRule>(changed)
  assert.equal(responsible?.id, alan.membership)
  assert.deepEqual(match, rule.match)
  const after = didIn(await enrolBy(service, platform, rule))
  const { admin } = organisation
  const persons = [await ownAgent(admin, before), await ownAgent(admin, after)]
  assert.deepEqual(
    persons.map((agent) => agent.responsible?.id),
    [grace.membership, alan.membership],
  )
  const removed = await admin.send('DELETE', `/api/account/members/${alan.membership}`)
  const { toReview } = jsonOf<{ toReview: { enrolmentRules: string[] } }>(removed)
  assert.deepEqual(toReview.enrolmentRules, [rule.id])
  assert.equal(jsonOf<EnrolmentRule>(await grace.get(at)).responsible, null)
  const { notifications } = jsonOf<{ notifications: { kind: string; link: string | null }[] }>(
    await grace.get('/api/account/notifications'),
  )
  const links = notifications.filter(({ kind }) => kind === 'enrolment_rule_changed')
  assert.deepEqual(
    links.map(({ link }) => link),
    [`/dashboard/enrolment/${rule.id}`, `/dashboard/enrolment/${rule.id}`],
  )
  const own = await newRule(grace.self, ruleFor(platform))
  assert.equal(own.responsible, null)
  const ofPerson = await grace.self.send('PATCH', `${RULES}/${own.id}`, {
    responsible: grace.membership,
  })
  assertRefused(ofPerson, 400, 'VALIDATION_ERROR', /organisations/)
})

test('an enrolled agent is not transferred', async (t) => {
  const service = await startTestService(t)
  const id = await service.operator.addVerifiedOwner()
  const owner = await signInBy(service, id, Date.now)
  await service.operator.addVerifiedOwner('receiver')
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const did = didIn(await enrolBy(service, platform, rule))
  const transfer = { agents: [did], to: 'receiver' }
  const answer = await owner.post('/api/account/transfers', transfer)
  assertRefused(answer, 409, 'CONFLICT', /enrolled by a rule/)
})
