import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
} from '../../../../test/support/platform.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { enrolBy, newOwner, newRule, untilDecided } from '../agents/enrolment/with-rules.ts'

const BASE_URL = 'https://certificates.example'

test(
  'two nodes give a token to one key, and a rule no more agents than seats',
  POSTGRES_ONLY,
  async (t) => {
    const first = await startTestService(t, { BASE_URL })
    const second = await startTestService(t, { ...first.env, PORT: String(await freePort()) })
    const nodes = Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? first : second))
    const owner = await newOwner(first)
    const platform = newPlatform()
    const rule = await newRule(owner, ruleFor(platform, { maxLive: 10 }))
    const token = await platform.token({ aud: rule.audience, sub: SUBJECT })
    const count = (answers: readonly { readonly status: number }[], status: number) =>
      answers.filter((each) => each.status === status).length
    const same = await Promise.all(
      nodes.map((node) => {
        const body = enrolmentBody(node, rule.id, token)
        return untilDecided(() => enrol(node, body))
      }),
    )
    assert.deepEqual([count(same, 201), count(same, 409)], [1, 23])
    const each = await Promise.all(
      nodes.map((node) => untilDecided(() => enrolBy(node, platform, rule))),
    )
    assert.deepEqual([count(each, 201), count(each, 409)], [9, 15])
  },
)
