import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Enrolment, newKey as newSigner, enrol as sdkEnrol } from '@countersign/sdk'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newPlatform, ruleFor, SUBJECT } from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { enrolBy, newOwner, newRule, RULES } from './with-rules.ts'

/** Defines the test. @param count how many workloads */
export function drill(count: number): void {
  test(`${count} workloads that start at once enrol, renew, work and end, and none is left`, async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const platform = newPlatform()
    const rule = await newRule(owner, ruleFor(platform, { maxLive: count, binding: 'key' }))
    const token = (aud: string) => platform.token({ aud, sub: SUBJECT })
    const signers = await Promise.all(Array.from({ length: count }, () => newSigner()))
    const timed = async <T>(name: string, work: (i: number) => Promise<T>) => {
      const start = performance.now()
      const results = await Promise.all(signers.map((_, i) => work(i)))
      t.diagnostic(`${name}: ${count} in ${Math.round(performance.now() - start)} ms`)
      return results
    }
    // The retries are those that every workload makes when the service asks it to wait. Only a busy machine gets more time.
    const patient = { timeoutMs: 300_000, attemptTimeoutMs: 100_000 }
    const enrol = (i: number) => {
      const signer = signers[i] as (typeof signers)[number]
      return sdkEnrol({ service: service.url, rule: rule.id, token, signer, ...patient })
    }
    const live = async () => jsonOf<{ live: number }>(await owner.get(`${RULES}/${rule.id}`)).live
    const enrolled = await timed('enrol', enrol)
    const dids = enrolled.map(({ did }) => did)
    assert.equal(new Set(dids).size, count)
    assert.equal(await live(), count)
    const again = await timed('renew', enrol)
    assert.deepEqual(
      again.map(({ did }) => did),
      dids,
    )
    assert.ok(again.every(({ renewed }) => renewed))
    const looked = await timed('look up', (i) => ask(service, `/api/v1/agent/${dids[i]}`))
    assert.ok(looked.every(({ status }) => status === 200))
    const ended = await timed('end', (i) => (enrolled[i] as Enrolment).end())
    assert.ok(ended.every(({ status }) => status === 'revoked'))
    assert.equal(await live(), 0)
    const { status } = await enrolBy(service, platform, rule)
    assert.equal(status, 403, 'a token that names no key')
  })
}
