import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolResponse } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotateTo } from '../../../../../test/support/key-operations.ts'
import {
  endEnrolment,
  newPlatform,
  ruleFor,
  startIssuer,
} from '../../../../../test/support/platform.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { HOUR_MS, signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import {
  assertUnavailable,
  didIn,
  enrolBy,
  newOwner,
  newRule,
  ownAgent,
  RULES,
} from './with-rules.ts'

const AGENTS = '/api/account/agents'
const MINUTE_MS = 60_000

/** Waits until the job of an agent has run and put off its end. @returns when it is due again */
async function putOff(service: TestService, did: string, now: () => number): Promise<number> {
  let runAt = 0
  await untilTicked(service, async () => {
    const job = await service.operator.db.read
      .selectFrom('jobs')
      .select('run_at')
      .where('id', '=', `enrolment:${did.slice(-24)}`)
      .executeTakeFirstOrThrow()
    runAt = Number(job.run_at)
    return runAt > now()
  })
  return runAt
}

async function isRevoked(service: TestService, did: string): Promise<boolean> {
  const agent = await service.operator.db.read
    .selectFrom('agents')
    .select(['status', 'status_reason'])
    .where('tail', '=', did.slice(-24))
    .executeTakeFirstOrThrow()
  return agent.status === 'revoked' && agent.status_reason === 'enrolment_ended'
}

test('an agent ends when it is unseen for the time of its rule, and only an enrolment counts as seen', async (t) => {
  const clock = new TestClock()
  const service = await startTestService(t, {}, clock.now)
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform, { unseenAfterSeconds: 3600 }))
  const [kept, left] = [newKey(), newKey()]
  const keptDid = didIn(await enrolBy(service, platform, rule, kept, clock.now))
  const leftDid = didIn(await enrolBy(service, platform, rule, left, clock.now))
  const first = await ownAgent(owner, leftDid)
  assert.equal(first.enrolment?.rule.id, rule.id)
  assert.equal(first.enrolment?.claims.iss, platform.issuer)
  clock.offset += 30 * MINUTE_MS
  const renewed = await enrolBy(service, platform, rule, kept, clock.now)
  assert.equal(didIn(renewed, 200), keptDid)
  const { renewAfter, endsAt } = jsonOf<EnrolResponse>(renewed)
  const wait = Date.parse(endsAt) - Date.parse(renewAfter)
  assert.ok(Math.abs(wait - (2 * HOUR_MS) / 3) < 1000, `${wait}`)
  // A lookup proves nothing about the workload.
  assert.equal((await ask(service, `/api/v1/agent/${leftDid}`)).status, 200)
  clock.offset += 31 * MINUTE_MS
  await untilTicked(service, () => isRevoked(service, leftDid))
  const ended = await ownAgent(owner, leftDid)
  assert.deepEqual([ended.status, ended.statusSetBy], ['revoked', 'service'])
  assert.equal(await isRevoked(service, keptDid), false)
  const live = jsonOf<{ live: number }>(await owner.get(`${RULES}/${rule.id}`)).live
  assert.equal(live, 1)
  const back = await enrolBy(service, platform, rule, left, clock.now)
  assert.notEqual(didIn(back), leftDid)
  const list = async (query: string) =>
    jsonOf<{ agents: { svcDid: string }[] }>(await owner.get(`${AGENTS}?${query}`)).agents.length
  assert.deepEqual([await list('enrolled=only'), await list('enrolled=exclude')], [3, 0])
  const kinds = await service.operator.db.read.selectFrom('notifications').select('kind').execute()
  assert.ok(!kinds.some(({ kind }) => kind === 'status_changed'), 'nobody is told of an unseen end')
})

test('a job that is late gives the workload a third of its time again, once', async (t) => {
  const clock = new TestClock()
  const service = await startTestService(t, {}, clock.now)
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform, { unseenAfterSeconds: 3600 }))
  const did = didIn(await enrolBy(service, platform, rule, newKey(), clock.now))
  // A clock that jumps by two days, or a backup that is restored.
  clock.advance(48)
  const until = await putOff(service, did, clock.now)
  assert.equal(await isRevoked(service, did), false)
  assert.ok(Math.abs(until - clock.now() - HOUR_MS / 3) < MINUTE_MS, `${until - clock.now()}`)
  clock.advance(1)
  await untilTicked(service, () => isRevoked(service, did))
})

test('nobody ends while the keys of the issuer cannot be read, for seven days', async (t) => {
  const clock = new TestClock()
  let elapsed = 0
  const service = await startTestService(t, {}, clock.now, () => elapsed)
  const issuer = await startIssuer(t)
  const owner = await newOwner(service)
  const platform = newPlatform(issuer.url, clock.now)
  issuer.jwks = platform.jwks
  const rule = await newRule(
    owner,
    ruleFor(platform, { unseenAfterSeconds: 3600, keys: { discovery: true } }),
  )
  const did = didIn(await enrolBy(service, platform, rule, newKey(), clock.now))
  issuer.isAway = true
  elapsed += 2 * HOUR_MS
  assertUnavailable(await enrolBy(service, platform, rule, newKey(), clock.now))
  const said = jsonOf<{ keysProblem: string | null }>(await owner.get(`${RULES}/${rule.id}`))
  assert.match(said.keysProblem ?? '', /500/)
  for (const hours of [1.02, 24, 100]) {
    clock.advance(hours)
    await putOff(service, did, clock.now)
    assert.equal(await isRevoked(service, did), false, `${hours} hours`)
  }
  clock.advance(50)
  await untilTicked(service, () => isRevoked(service, did))
})

test('a workload ends itself, once and for all', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const [key, foreign] = [newKey(), newKey()]
  const did = didIn(await enrolBy(service, platform, rule, key))
  assertRefused(await endEnrolment(service, did, foreign), 401, 'INVALID_SIGNATURE')
  const old = Math.floor(Date.now() / 1000) - 301
  assertRefused(await endEnrolment(service, did, key, old), 400, 'VALIDATION_ERROR')
  for (const _ of [1, 2]) {
    const ended = await endEnrolment(service, did, key)
    assert.equal(ended.status, 200, ended.text)
    const { status, statusReason } = jsonOf(ended)
    assert.deepEqual([status, statusReason], ['revoked', 'enrolment_ended'])
  }
  assert.equal((await ownAgent(owner, did)).statusSetBy, 'agent')
  assert.notEqual(didIn(await enrolBy(service, platform, rule, key)), did)
  const unknown = `svc:agent:${'1'.repeat(24)}`
  assertRefused(await endEnrolment(service, unknown, key), 404, 'NOT_FOUND')
})

test('neither the key nor the owner of an enrolled agent changes, and a suspended one cannot renew', async (t) => {
  const clock = new TestClock()
  const service = await startTestService(t, {}, clock.now)
  const owner = await signInBy(service, await service.operator.addVerifiedOwner(), clock.now)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const key = newKey()
  const did = didIn(await enrolBy(service, platform, rule, key))
  const keys = { old: key, next: newKey(), sequence: 2 }
  assertRefused(await rotateTo(service, did, keys), 409, 'CONFLICT', /Enrol again/)
  const recovery = { reason: 'key_lost' }
  assertRefused(
    await owner.post(`${AGENTS}/${did}/recovery`, recovery),
    409,
    'CONFLICT',
    /Enrol again/,
  )
  assert.equal((await owner.post(`${AGENTS}/${did}/suspend`)).status, 200)
  const refused = await enrolBy(service, platform, rule, key)
  assertRefused(refused, 409, 'AGENT_NOT_ACTIVE', /suspended/)
  assert.equal((await owner.post(`${AGENTS}/${did}/reactivate`)).status, 200)
  assert.equal(didIn(await enrolBy(service, platform, rule, key), 200), did)
})
