import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolmentRule } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { newPlatform, ruleFor } from '../../../../../test/support/platform.ts'
import { countersignd, startTestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { didIn, enrolBy, newOwner, newRule, ownAgent, RULES } from './with-rules.ts'

test('the operator lists rules, pauses one, and ends one with its agents', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const did = didIn(await enrolBy(service, platform, rule))
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await countersignd(service.env, 'enrolment', ...words)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const listed = await run('list')
  for (const text of [rule.id, 'ada', 'active', rule.name]) assert.ok(listed.includes(text), listed)
  await run('pause', rule.id)
  const { state } = jsonOf<EnrolmentRule>(await owner.get(`${RULES}/${rule.id}`))
  assert.equal(state, 'paused')
  assert.match(await run('end', rule.id), /agents: 1/)
  await untilTicked(service, async () => (await ownAgent(owner, did)).status === 'revoked')
  const unknown = await countersignd(service.env, 'enrolment', 'pause', 'er_x')
  assert.notEqual(unknown.code, 0)
  assert.match(unknown.stderr, /no enrolment rule/)
  const told = (await owner.get('/api/account/notifications')).text
  assert.match(told, /operator of the service did this/)
})
