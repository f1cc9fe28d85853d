import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { OwnerAgent } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { fileCleanup } from '../../../../../test/support/file-cleanup.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { renounceWith, reportWith } from '../../../../../test/support/key-operations.ts'
import {
  endEnrolment,
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
  signToken,
  thumbprintOf,
} from '../../../../../test/support/platform.ts'
import {
  claimAgent,
  claimBody,
  postJson,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { TestClock } from '../../../../../test/support/sign-in-by.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { reactivateOwner, suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import { didIn, enrolBy, newOwner, newRule, ownAgent, RULES } from './with-rules.ts'

const cleanup = fileCleanup()
const clock = new TestClock()
let started: Promise<TestService> | null = null
/** One service for all tests of this file. */
const startService = () => {
  started ??= startTestService(cleanup, { RATE_LIMITS: '' }, clock.now)
  return started
}

test('another signature of a token is the same token; a captured request only renews', async () => {
  const service = await startService()
  const owner = await newOwner(service)
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...ec.publicKey.export({ format: 'jwk' }), kid: 'key-1' }
  const platform = { ...newPlatform(undefined, clock.now), jwks: { keys: [jwk] } }
  const rule = await newRule(owner, ruleFor(platform))
  const other = await newRule(owner, ruleFor(platform, { name: 'other' }))
  const iat = Math.floor(clock.now() / 1000)
  const claims = { iss: platform.issuer, aud: rule.audience, sub: SUBJECT, iat, exp: iat + 600 }
  const token = await signToken(ec.privateKey, { alg: 'ES256', kid: 'key-1' }, claims)
  const key = newKey()
  const captured = enrolmentBody(service, rule.id, token, key)
  const did = didIn(await enrol(service, captured))
  const before = await ownAgent(owner, did)
  clock.offset += 1000
  assert.equal(didIn(await enrol(service, captured), 200), did)
  const { enrolment, ...same } = await ownAgent(owner, did)
  const { enrolment: earlier, ...rest } = before
  assert.deepEqual(same, rest)
  assert.deepEqual(enrolment?.claims, earlier?.claims)
  assert.ok(String(enrolment?.seenAt) > String(earlier?.seenAt))

  const thief = enrolmentBody(service, rule.id, withOtherSignature(token))
  assertRefused(await enrol(service, thief), 409, 'CONFLICT', /Another key/)
  const own = enrolmentBody(service, rule.id, withOtherSignature(token), key)
  assert.equal(didIn(await enrol(service, own), 200), did)
  assertRefused(await enrol(service, { ...captured, rule: other.id }), 401, 'INVALID_SIGNATURE')
  const unknown = { ...captured, rule: `er_${'z'.repeat(22)}` }
  assertRefused(await enrol(service, unknown), 404, 'NOT_FOUND', /no enrolment rule/)
})

test('a suspended owner, an expired verification and a renounced agent stop enrolments', async () => {
  const service = await startService()
  const { db, pepper } = service.operator
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform))
  const key = newKey()
  const did = didIn(await enrolBy(service, platform, rule, key, clock.now))
  const renew = () => enrolBy(service, platform, rule, key, clock.now)
  const deps = { db, now: clock.now, pepper }
  await suspendOwner(deps, owner.ownerId, 'under_review')
  for (const each of [key, newKey()]) {
    assertRefused(await enrolBy(service, platform, rule, each, clock.now), 403, 'FORBIDDEN')
  }
  await reactivateOwner(deps, owner.ownerId)

  const renounced = newKey()
  const gone = didIn(await enrolBy(service, platform, rule, renounced, clock.now))
  const by = { old: renounced, sequence: 1 }
  const { issuedAt } = clock.signed
  assert.equal((await renounceWith(service, gone, by, { issuedAt })).status, 200)
  assertRefused(
    await enrolBy(service, platform, rule, renounced, clock.now),
    409,
    'AGENT_NOT_ACTIVE',
  )

  await verifyOwner(deps, owner.ownerId, {
    ...{ provider: 'in-person', issuer: 'host', subject: String(owner.ownerId) },
    ...{ assurance: 'substantial', expiresAt: clock.now() + 1000 },
  })
  clock.offset += 1001
  assert.equal(didIn(await renew(), 200), did, 'a renewal makes no new certificate')
  assertRefused(
    await enrolBy(service, platform, rule, newKey(), clock.now),
    403,
    'IDENTITY_REQUIRED',
  )
})

test('a key that is burned, suspended or of another owner does not enrol', async () => {
  const service = await startService()
  const [owner, stranger] = [await newOwner(service), await newOwner(service)]
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform, { binding: 'token' }))
  const send = (key: ReturnType<typeof newKey>) => enrolBy(service, platform, rule, key, clock.now)
  const burned = newKey()
  const did = didIn(await send(burned))
  const { issuedAt } = clock.signed
  const report = await reportWith(service, did, { old: burned, sequence: 1 }, { issuedAt })
  assert.equal(report.status, 200, report.text)
  const again = await send(burned)
  assert.equal(again.status, 409, again.text)

  const suspended = newKey()
  const publicKey = Buffer.from(suspended.publicKey, 'base64')
  await service.operator.db.write((tx) =>
    tx.db
      .insertInto('suspended_keys')
      .values({ public_key: publicKey, suspended_at: clock.now(), reason: null } as never)
      .execute(),
  )
  assertRefused(await send(suspended), 409, 'KEY_ALREADY_CLAIMED', /operator/)
  const held = newKey()
  await claimAgent(service, stranger.ownerId, held, 'other')
  assertRefused(await send(held), 409, 'KEY_ALREADY_CLAIMED', /Another owner/)
})

test('a claim and an enrolment of one key and label make one agent', async () => {
  const service = await startService()
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform))
  for (let i = 0; i < 4; i++) {
    const key = newKey()
    const token = await service.operator.issueToken(owner.ownerId)
    const claim = () => postJson(`${service.url}/api/v1/claim`, claimBody(token, key, 'crawler'))
    const enrolled = () => enrolBy(service, platform, rule, key, clock.now)
    const both = i % 2 === 0 ? [claim(), enrolled()] : [enrolled(), claim()]
    const statuses = (await Promise.all(both)).map(({ status }) => status)
    assert.equal(statuses.filter((each) => each < 300).length, 1, `${statuses}`)
    assert.ok(statuses.includes(409), `${statuses}`)
  }
  const listed = jsonOf<{ agents: OwnerAgent[] }>(await owner.get('/api/account/agents'))
  assert.equal(listed.agents.length, 4)
})

test('an end and a renewal at once: the end is final, and the workload has another agent or none', async () => {
  const service = await startService()
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform))
  for (let i = 0; i < 4; i++) {
    const key = newKey()
    const did = didIn(await enrolBy(service, platform, rule, key, clock.now))
    const end = () => endEnrolment(service, did, key, clock.signed.issuedAt)
    const renew = () => enrolBy(service, platform, rule, key, clock.now)
    const both = i % 2 === 0 ? [end(), renew()] : [renew(), end()]
    const answers = await Promise.all(both)
    const [ended, renewed] = i % 2 === 0 ? answers : answers.toReversed()
    assert.equal(ended?.status, 200, ended?.text)
    assert.equal((await ownAgent(owner, did)).status, 'revoked')
    const { status = 0, text = '' } = renewed ?? {}
    assert.ok([200, 201].includes(status), text)
    assert.equal(text.includes(did), status === 200)
  }
})

test('a broken workload behind a shared address keeps nobody from renewing', async () => {
  const service = await startService()
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform, { binding: 'key' }))
  const key = newKey()
  const aud = `${rule.audience}/${thumbprintOf(key)}`
  const token = await platform.token({ aud, sub: SUBJECT })
  const body = enrolmentBody(service, rule.id, token, key)
  didIn(await enrol(service, body))
  const broken = await platform.token({ aud: 'https://other.example', sub: SUBJECT })
  const wrong = enrolmentBody(service, rule.id, broken, key)
  for (let i = 0; i < 100; i++) {
    const { status } = await enrol(service, wrong)
    assert.equal(status, 403)
  }
  didIn(await enrol(service, body), 200)
  const { lastRefusal } = jsonOf<{ lastRefusal: null }>(await owner.get(`${RULES}/${rule.id}`))
  assert.equal(lastRefusal, null, 'what the issuer may not have signed writes nothing')
  assertRefused(
    await enrol(service, enrolmentBody(service, rule.id, randomUUID())),
    400,
    'VALIDATION_ERROR',
  )
})

/** The other ECDSA signature of the same bytes, which anybody can make: n - s for s. */
function withOtherSignature(token: string): string {
  const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const dot = token.lastIndexOf('.') + 1
  const signature = Buffer.from(token.slice(dot), 'base64url')
  const s = BigInt(`0x${signature.subarray(32).toString('hex')}`)
  const other = Buffer.from((n - s).toString(16).padStart(64, '0'), 'hex')
  return (
    token.slice(0, dot) + Buffer.concat([signature.subarray(0, 32), other]).toString('base64url')
  )
}
