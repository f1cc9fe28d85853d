import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  endEnrolment,
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
  thumbprintOf,
} from '../../../../../test/support/platform.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { didIn, enrolBy, newOwner, newRule, RULES, untilDecided } from './with-rules.ts'

const count = (statuses: readonly number[], status: number) =>
  statuses.filter((each) => each === status).length

test('of 25 keys with one token, one enrols; the same request 25 times makes one agent', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const token = await platform.token({ aud: rule.audience, sub: SUBJECT })
  const bodies = Array.from({ length: 25 }, () => enrolmentBody(service, rule.id, token))
  const answers = await Promise.all(bodies.map((body) => untilDecided(() => enrol(service, body))))
  const statuses = answers.map(({ status }) => status)
  assert.deepEqual([count(statuses, 201), count(statuses, 409)], [1, 24])
  const other = await platform.token({ aud: rule.audience, sub: SUBJECT, jti: 'other' })
  const body = enrolmentBody(service, rule.id, other)
  const same = await Promise.all(bodies.map(() => untilDecided(() => enrol(service, body))))
  const again = same.map(({ status }) => status)
  assert.deepEqual([count(again, 201), count(again, 200)], [1, 24])
  assert.equal(new Set(same.map((each) => jsonOf(each).svcDid)).size, 1)
  const { notifications } = jsonOf<{ notifications: { title: string }[] }>(
    await owner.get('/api/account/notifications'),
  )
  assert.equal(notifications.filter(({ title }) => /needs attention/.test(title)).length, 1)
})

test('of 200 keys for 50 seats, 50 enrol, and a seat that is given up is taken again', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform, { maxLive: 50, binding: 'key' }))
  const bodies = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const key = newKey()
      const aud = `${rule.audience}/${thumbprintOf(key)}`
      const token = await platform.token({ aud, sub: SUBJECT })
      return { key, body: enrolmentBody(service, rule.id, token, key) }
    }),
  )
  const answers = await Promise.all(
    bodies.map(({ body }) => untilDecided(() => enrol(service, body))),
  )
  const statuses = answers.map(({ status }) => status)
  assert.deepEqual([count(statuses, 201), count(statuses, 409)], [50, 150])
  const first = statuses.indexOf(201)
  const { svcDid } = jsonOf<{ svcDid: string }>(answers[first] as (typeof answers)[number])
  const seat = bodies[first] as (typeof bodies)[number]
  assert.equal((await endEnrolment(service, svcDid, seat.key)).status, 200)
  const next = bodies[statuses.indexOf(409)] as (typeof bodies)[number]
  assert.equal((await enrol(service, next.body)).status, 201)
})

test('the state of the rule at the commit decides, and the end of a rule leaves nobody', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform, { maxLive: 200 }))
  const enrolments = Array.from({ length: 30 }, () =>
    untilDecided(() => enrolBy(service, platform, rule)),
  )
  const [ended, ...answers] = await Promise.all([
    owner.post(`${RULES}/${rule.id}/end`),
    ...enrolments,
  ])
  assert.equal(ended.status, 202, ended.text)
  for (const { status } of answers) assert.ok([201, 403].includes(status), `${status}`)
  const live = async () => jsonOf<{ live: number }>(await owner.get(`${RULES}/${rule.id}`)).live
  await untilTicked(service, async () => (await live()) === 0)
  assertRefused(await enrolBy(service, platform, rule), 403, 'FORBIDDEN', /paused/)
})

test('a key and a label are of one agent, by a claim or an enrolment', async (t) => {
  const service = await startTestService(t)
  const [owner, stranger] = [await newOwner(service), await newOwner(service)]
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const other = await newRule(owner, ruleFor(platform, { name: 'other' }))
  const theirs = await newRule(stranger, ruleFor(platform))
  const key = newKey()
  await claimAgent(service, owner.ownerId, key, 'crawler')
  const taken = await enrolBy(service, platform, rule, key)
  assertRefused(taken, 409, 'KEY_ALREADY_CLAIMED', /not of this rule/)
  const enrolled = newKey()
  didIn(await enrolBy(service, platform, rule, enrolled))
  for (const each of [other, theirs]) {
    assertRefused(await enrolBy(service, platform, each, enrolled), 409, 'KEY_ALREADY_CLAIMED')
  }
})
