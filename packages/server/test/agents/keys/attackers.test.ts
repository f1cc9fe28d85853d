import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { renounceWith, reportWith, rotateTo } from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { claimKey, eventTypesOf, statusOf } from '../manage/keys.ts'
import {
  AGENTS,
  assertEnded,
  assertProves,
  HOUR_MS,
  historyOf,
  keysOf,
  REPLACED,
  REPORTED,
  recoverWith,
  signInBy,
  startRecovery,
  TestClock,
  veto,
} from './with-keys.ts'

/* One test for each row of the table in docs/key-recovery.md, in its order. */

const clock = new TestClock()
const ends: (() => unknown)[] = []
let service: TestService

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
})

after(async () => {
  for (const end of ends) await end()
})

async function withAgent() {
  const ownerId = await service.operator.addVerifiedOwner()
  const owner = await signInBy(service, ownerId, clock.now)
  const [key, theirs] = [newKey(), newKey()]
  const did = await claimAgent(service, ownerId, key)
  const signedInBy = (how: Parameters<typeof signInBy>[3]) =>
    signInBy(service, ownerId, clock.now, how)
  const rotated = (sequence = 2) =>
    untilTicked(service, async () => (await keysOf(service, did)).keySequence === sequence)
  return { ownerId, owner, key, theirs, did, signedInBy, rotated }
}

const contestBody = (reason: string) => ({ sequence: 1, reason })

test("with the agent's key: a rotation, which the owner contests or recovers from", async () => {
  const { owner, key, theirs, did } = await withAgent()
  await rotateTo(service, did, { old: key, next: theirs, sequence: 2 }, clock.signed)
  await assertProves(service, theirs, did)
  assert.deepEqual(await eventTypesOf(service, did), ['agent.key_rotated'])
  const contested = await owner.post(
    `${AGENTS}/${did}/keys/contest`,
    contestBody('key_compromised'),
  )
  assert.equal(contested.status, 200, contested.text)
  for (const each of [key, theirs]) await assertEnded(service, each, REPORTED)

  const other = await withAgent()
  const stolen = { old: other.key, next: other.theirs, sequence: 2 }
  await rotateTo(service, other.did, stolen, clock.signed)
  clock.advance(100)
  const late = await other.signedInBy({})
  await startRecovery(late, other.did, 'key_compromised')
  await assertEnded(service, other.theirs, REPORTED)
})

test("with the agent's key: a renouncing, which the owner stops for 72 hours", async () => {
  const { owner, key, theirs, did, rotated } = await withAgent()
  const thief = await service.operator.addVerifiedOwner()
  const renounced = await renounceWith(service, did, { old: key, sequence: 1 }, clock.signed)
  assert.equal(renounced.status, 200, renounced.text)
  const stolen = await claimKey(service, thief, key, 'x')
  assertRefused(stolen, 409, 'KEY_ALREADY_CLAIMED')
  const reported = await owner.post(`${AGENTS}/${did}/keys/compromised`, { sequence: 1 })
  assert.equal(reported.status, 200, reported.text)
  await assertEnded(service, key, REPORTED)
  const token = await startRecovery(owner, did, 'key_compromised')
  await recoverWith(service, did, { token, next: theirs, sequence: 2 }, clock.signed)
  clock.advance(100)
  await rotated()
  await assertProves(service, theirs, did)
  const late = await claimKey(service, thief, key, 'x')
  assertRefused(late, 409, 'KEY_ALREADY_CLAIMED', /compromised/)
})

test("with the agent's key: a rotation and a renouncing, both of which the owner contests", async () => {
  const { owner, key, theirs, did } = await withAgent()
  await rotateTo(service, did, { old: key, next: theirs, sequence: 2 }, clock.signed)
  const renounced = await renounceWith(service, did, { old: theirs, sequence: 2 }, clock.signed)
  assert.equal(renounced.status, 200, renounced.text)
  const contested = await owner.post(
    `${AGENTS}/${did}/keys/contest`,
    contestBody('key_compromised'),
  )
  assert.equal(contested.status, 200, contested.text)
  clock.advance(100)
  service.tick()
  assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
})

test('with the key, after it has renounced the agent: nothing but a report', async () => {
  const { owner, key, theirs, did } = await withAgent()
  await startRecovery(owner, did, 'key_lost')
  await renounceWith(service, did, { old: key, sequence: 1 }, clock.signed)
  const rotation = { old: key, next: theirs, sequence: 2 }
  for (const refused of [
    await rotateTo(service, did, rotation, clock.signed),
    await veto(service, did, { old: key, sequence: 1 }, clock.signed),
  ]) {
    assertRefused(refused, 409, 'CONFLICT', /renounced/)
  }
  const reported = await reportWith(service, did, { old: key, sequence: 1 }, clock.signed)
  assert.equal(reported.status, 200, reported.text)
  assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
})

test('with a key of a revoked agent: a claim, until somebody reports it', async () => {
  const { owner, key, did } = await withAgent()
  assert.equal((await owner.post(`${AGENTS}/${did}/revoke`)).status, 200)
  const thief = await service.operator.addVerifiedOwner()
  const stolen = await claimAgent(service, thief, key)
  await assertProves(service, key, stolen)
  const reported = await owner.post(`${AGENTS}/${did}/keys/compromised`, { sequence: 1 })
  assert.equal(reported.status, 200, reported.text)
  await assertEnded(service, key, REPORTED)
  assert.deepEqual(await statusOf(service, stolen), ['suspended', 'key_compromised'])
})

test('with a key that was rotated away: nothing but a report, which burns that key only', async () => {
  const { ownerId, key, theirs, did } = await withAgent()
  const next = newKey()
  await rotateTo(service, did, { old: key, next, sequence: 2 }, clock.signed)
  await assertEnded(service, key, REPLACED)
  const thief = await service.operator.addVerifiedOwner()
  assertRefused(await claimKey(service, thief, key, 'x'), 409, 'KEY_ALREADY_CLAIMED')
  const again = { old: key, next: theirs, sequence: 3 }
  assertRefused(await rotateTo(service, did, again, clock.signed), 401, 'INVALID_SIGNATURE')
  const back = { old: next, next: key, sequence: 3 }
  assertRefused(await rotateTo(service, did, back, clock.signed), 409, 'KEY_ALREADY_CLAIMED')
  assertRefused(
    await veto(service, did, { old: key, sequence: 2 }, clock.signed),
    401,
    'INVALID_SIGNATURE',
  )
  assert.notEqual(thief, ownerId)
  const reported = await reportWith(service, did, { old: key, sequence: 1 }, clock.signed)
  assert.equal(reported.status, 200, reported.text)
  await assertProves(service, next, did)
})

test('with the key, while it is recovered as lost: a veto, until the owner reports it as compromised', async () => {
  const { owner, key, did } = await withAgent()
  for (let round = 0; round < 3; round++) {
    await startRecovery(owner, did, 'key_lost')
    const vetoed = await veto(service, did, { old: key, sequence: 1 }, clock.signed)
    assert.equal(vetoed.status, 200, vetoed.text)
  }
  await startRecovery(owner, did, 'key_compromised')
  const late = await veto(service, did, { old: key, sequence: 1 }, clock.signed)
  assertRefused(late, 403, 'FORBIDDEN')
})

test("with the owner's session, older than 10 minutes: nothing about keys", async () => {
  const { key, theirs, did, signedInBy } = await withAgent()
  await rotateTo(service, did, { old: key, next: theirs, sequence: 2 }, clock.signed)
  const old = await signedInBy({ signedInAt: clock.now() - HOUR_MS / 2 })
  for (const answer of [
    await old.post(`${AGENTS}/${did}/keys/contest`, contestBody('mistake')),
    await old.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' }),
    await old.post(`${AGENTS}/${did}/recovery/token`),
    await old.send('DELETE', `${AGENTS}/${did}/recovery`),
  ]) {
    assertRefused(answer, 403, 'RECENT_SIGN_IN_REQUIRED')
  }
  assert.equal((await old.post(`${AGENTS}/${did}/revoke`)).status, 200)
})

test("with a sign-in by an operator's link or a recovery code: a contest, which brings back only the agent's own key", async () => {
  for (const method of ['link', 'recovery-code'] as const) {
    const { key, theirs, did, signedInBy } = await withAgent()
    await rotateTo(service, did, { old: key, next: theirs, sequence: 2 }, clock.signed)
    const thief = await signedInBy({ method })
    const start = await thief.post(`${AGENTS}/${did}/recovery`, { reason: 'key_compromised' })
    assertRefused(start, 403, 'RECENT_SIGN_IN_REQUIRED')
    await assertProves(service, theirs, did)
    const contested = await thief.post(`${AGENTS}/${did}/keys/contest`, contestBody('mistake'))
    assert.equal(contested.status, 200)
    await assertProves(service, key, did)
  }
})

test('with a passkey or provider that they added: no recovery for 72 hours', async () => {
  const { did, signedInBy } = await withAgent()
  for (const method of ['passkey', 'provider'] as const) {
    const addedAt = clock.now()
    const thief = await signedInBy({ method, addedAt })
    const start = await thief.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
    assertRefused(start, 403, 'RECENT_SIGN_IN_REQUIRED')
  }
  assert.equal((await keysOf(service, did)).recovery, null)
})

test("with the owner's own passkey: a recovery that the agent sees and stops, and the owner cancels", async () => {
  const { owner, key, theirs, did, signedInBy } = await withAgent()
  const thief = await signedInBy({})
  const steal = async () => {
    const token = await startRecovery(thief, did, 'key_lost')
    await recoverWith(service, did, { token, next: theirs, sequence: 2 }, clock.signed)
    const { recovery } = await keysOf(service, did)
    assert.ok(recovery?.effectiveAt && recovery.keyThumbprint)
  }
  await steal()
  assert.equal((await veto(service, did, { old: key, sequence: 1 }, clock.signed)).status, 200)
  await steal()
  assert.equal((await owner.send('DELETE', `${AGENTS}/${did}/recovery`)).status, 204)
  await steal()
  const next = newKey()
  await rotateTo(service, did, { old: key, next, sequence: 2 }, clock.signed)
  clock.advance(73)
  service.tick()
  await assertProves(service, next, did)
})

test("with the agent's key and the owner's sign-in: everything, until somebody revokes", async () => {
  const { key, theirs, did, signedInBy } = await withAgent()
  const thief = await signedInBy({})
  await rotateTo(service, did, { old: key, next: theirs, sequence: 2 }, clock.signed)
  const token = await startRecovery(thief, did, 'key_compromised')
  const third = newKey()
  await recoverWith(service, did, { token, next: third, sequence: 3 }, clock.signed)
  const owner = await signedInBy({})
  assert.equal((await owner.post(`${AGENTS}/${did}/revoke`)).status, 200)
  assert.equal((await keysOf(service, did)).recovery, null)
  assert.deepEqual((await historyOf(service, did)).length, 2)
})

test('with the recovery token alone: one redemption, which the owner sees, and replaces or cancels', async () => {
  const { owner, theirs, did, rotated } = await withAgent()
  const token = await startRecovery(owner, did, 'key_lost')
  await recoverWith(service, did, { token, next: theirs, sequence: 2 }, clock.signed)
  const types = await eventTypesOf(service, did)
  assert.equal(types.at(-1), 'agent.key_recovery_redeemed')
  const { text } = await owner.post(`${AGENTS}/${did}/recovery/token`)
  const own = newKey()
  const fresh = { token: JSON.parse(text).recoveryToken as string, next: own, sequence: 2 }
  const redeemed = await recoverWith(service, did, fresh, clock.signed)
  assert.equal(redeemed.status, 200, redeemed.text)
  clock.advance(73)
  await rotated()
  await assertProves(service, own, did)
})

test('with the commands of the operator: suspension and revocation, and no key', async () => {
  const { key, did, signedInBy } = await withAgent()
  await setStatus(service, did, 'suspended', 'abuse', 'operator')
  const linked = await signedInBy({ method: 'link' })
  const start = await linked.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
  assertRefused(start, 403, 'RECENT_SIGN_IN_REQUIRED')
  await setStatus(service, did, 'active', null, 'operator')
  await assertProves(service, key, did)
  await setStatus(service, did, 'revoked', 'abuse', 'operator')
  assert.deepEqual(await statusOf(service, did), ['revoked', 'abuse'])
})
