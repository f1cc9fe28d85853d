import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolmentRule, EnrolResponse } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
} from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { newOwner, newRule, RULES } from './with-rules.ts'

test('a workload enrols with the token of its platform, and the same call renews it', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(
    owner,
    ruleFor(platform, { profile: { displayName: 'Crawler', description: null } }),
  )
  assert.equal(rule.audience, `${service.settings.baseUrl.origin}/enrol/${rule.id}`)
  const token = await platform.token({ aud: rule.audience, sub: SUBJECT })
  const key = newKey()
  const enrolled = await enrol(service, enrolmentBody(service, rule.id, token, key))
  assert.equal(enrolled.status, 201, enrolled.text)
  const { svcDid, agentId, renewed } = jsonOf<EnrolResponse>(enrolled)
  assert.deepEqual([agentId, renewed], ['crawler', false])
  const again = await enrol(service, enrolmentBody(service, rule.id, token, key))
  assert.equal(again.status, 200, again.text)
  assert.equal(jsonOf<EnrolResponse>(again).svcDid, svcDid)

  const lookup = await owner.get(`/api/v1/agent/${svcDid}`)
  assert.equal(lookup.status, 200)
  const own = jsonOf<{ displayName: string }>(await owner.get(`/api/account/agents/${svcDid}`))
  assert.equal(own.displayName, 'Crawler')
  const listed = jsonOf<{ rules: EnrolmentRule[] }>(await owner.get(RULES)).rules
  assert.deepEqual(
    listed.map(({ id, live }) => [id, live]),
    [[rule.id, 1]],
  )
  const thief = await enrol(service, enrolmentBody(service, rule.id, token))
  assertRefused(thief, 409, 'CONFLICT', /Another key/)
})
