import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { endEnrolment, newPlatform, ruleFor } from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { didIn, enrolBy, newOwner, newRule, RULES } from './with-rules.ts'

const WORKLOADS = 200
/** Few enough that no load is shed on a busy machine. */
const AT_ONCE = 10

test('200 workloads enrol, renew, work and end, and none is left', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform, { maxLive: WORKLOADS }))
  const keys = Array.from({ length: WORKLOADS }, () => newKey())
  const timed = async <T>(name: string, work: (key: (typeof keys)[number], i: number) => T) => {
    const start = performance.now()
    const results: Awaited<T>[] = []
    for (let first = 0; first < WORKLOADS; first += AT_ONCE) {
      const some = keys.slice(first, first + AT_ONCE)
      results.push(...(await Promise.all(some.map((key, i) => work(key, first + i)))))
    }
    t.diagnostic(`${name}: ${WORKLOADS} in ${Math.round(performance.now() - start)} ms`)
    return results
  }
  const live = async () => jsonOf<{ live: number }>(await owner.get(`${RULES}/${rule.id}`)).live
  const dids = await timed('enrol', async (key) =>
    didIn(await enrolBy(service, platform, rule, key)),
  )
  assert.equal(new Set(dids).size, WORKLOADS)
  const full = await enrolBy(service, platform, rule)
  assert.equal(full.status, 409, full.text)
  const again = await timed('renew', async (key) =>
    didIn(await enrolBy(service, platform, rule, key), 200),
  )
  assert.deepEqual(again, dids)
  t.diagnostic(`active: ${await live()}`)
  const looked = await timed('look up', (_key, i) => ask(service, `/api/v1/agent/${dids[i]}`))
  assert.ok(looked.every(({ status }) => status === 200))
  const ended = await timed('end', (key, i) => endEnrolment(service, dids[i] as string, key))
  assert.ok(ended.every(({ status }) => status === 200))
  t.diagnostic(`active: ${await live()}`)
  assert.equal(await live(), 0)
})
