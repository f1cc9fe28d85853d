import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { newPlatform, ruleFor } from '../../../../../test/support/platform.ts'
import { startTestService, tempDir } from '../../../../../test/support/service.ts'
import { TestClock } from '../../../../../test/support/sign-in-by.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { didIn, enrolBy, newOwner, newRule, ownAgent } from './with-rules.ts'

test('a service that was down for two days ends nobody at once, and those that renew go on', async (t) => {
  const clock = new TestClock()
  const DATA_DIR = tempDir(t)
  const first = await startTestService(t, { DATA_DIR, BASE_URL: 'https://id.example' }, clock.now)
  const platform = newPlatform(undefined, clock.now)
  const { ownerId, ...owner } = await newOwner(first)
  const rule = await newRule({ ownerId, ...owner }, ruleFor(platform))
  const keys = Array.from({ length: 6 }, () => newKey())
  const dids: string[] = []
  for (const key of keys) dids.push(didIn(await enrolBy(first, platform, rule, key, clock.now)))
  await first.stop()

  clock.advance(48)
  const second = await startTestService(t, first.env, clock.now)
  const { db } = second.operator
  const isSettled = async () => {
    const jobs = db.read.selectFrom('jobs').select('id').where('kind', '=', 'end-enrolment')
    return (await jobs.where('run_at', '<=', clock.now()).execute()).length === 0
  }
  const statuses = async () => {
    const back = await signIn(second, ownerId, clock.now())
    const agents = await Promise.all(dids.map((did) => ownAgent(back, did)))
    return agents.map(({ status }) => status)
  }
  await untilTicked(second, isSettled)
  assert.deepEqual(new Set(await statuses()), new Set(['active']))
  const renewed = keys.slice(0, 3)
  for (const [i, key] of renewed.entries()) {
    assert.equal(didIn(await enrolBy(second, platform, rule, key, clock.now), 200), dids[i])
  }
  // A third of a day later, those that did not come back end.
  clock.advance(8.1)
  await untilTicked(second, isSettled)
  assert.deepEqual(await statuses(), [...Array(3).fill('active'), ...Array(3).fill('revoked')])
})
