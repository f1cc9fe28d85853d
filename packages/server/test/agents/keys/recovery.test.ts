import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Notifications } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { rotateTo, type Signed } from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { ownerById } from '../../../src/accounts/owner-table.ts'
import { textOf } from '../../pages/support/html.ts'
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

suite('recovery', () => {
  const clock = new TestClock()
  const services: Record<string, TestService> = {}
  const ends: (() => unknown)[] = []
  const cleanup = { after: (end: () => unknown) => ends.push(end) }
  before(async () => {
    services.default = await startTestService(cleanup, {}, clock.now)
    services.immediate = await startTestService(cleanup, { RECOVERY_DELAY: '0' }, clock.now)
  })

  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  async function withAgent(delay: 'default' | 'immediate' = 'default') {
    const service = services[delay] as TestService
    const ownerId = await service.operator.addVerifiedOwner()
    const owner = await signInBy(service, ownerId, clock.now)
    const [old, next] = [newKey(), newKey()]
    const did = await claimAgent(service, ownerId, old, 'main')
    return {
      service,
      ownerId,
      owner,
      old,
      next,
      did,
      recover: (token: string, key = next, sequence = 2) =>
        recoverWith(service, did, { token, next: key, sequence }, clock.signed),
      vetoBy: (key: TestKey, sequence = 1, changed: Partial<Signed> = {}) =>
        veto(service, did, { old: key, sequence }, { ...clock.signed, ...changed }),
      changed: () =>
        untilTicked(service, async () => (await keysOf(service, did)).keySequence === 2),
    }
  }

  test('of a lost key takes effect after 72 hours; until then the old key works', async () => {
    const { service, owner, old, next, did, recover, changed } = await withAgent()
    const token = await startRecovery(owner, did, 'key_lost')
    assert.match(token, /^svc-recover-[0-9a-f]{32}$/)
    const second = await owner.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
    assertRefused(second, 409, 'CONFLICT', /pending/)
    const { recovery } = await keysOf(service, did)
    assert.deepEqual([recovery?.reason, recovery?.redeemedAt], ['key_lost', null])

    const answer = await recover(token)
    assert.equal(answer.status, 200, answer.text)
    const { effectiveAt } = jsonOf(answer)
    assert.deepEqual(jsonOf(answer), { svcDid: did, keySequence: 2, effectiveAt })
    const wait = Date.parse(effectiveAt as string) - clock.now()
    assert.ok(wait > 71 * HOUR_MS && wait <= 72 * HOUR_MS)
    const certificate = async () => textOf((await ask(service, `/agent/${did}`)).text)
    const pending =
      /Key number 1, since .* Pending recovery The owner reported this key as lost\. A new key takes effect on \d/
    assert.match(await certificate(), pending)
    const repeated = await unchanged(service, () => recover(token))
    assert.deepEqual([repeated.status, jsonOf(repeated)], [200, jsonOf(answer)])
    assertRefused(await recover(token, newKey()), 410, 'TOKEN_EXPIRED', /used/)
    await assertProves(service, old, did)

    clock.advance(73)
    await changed()
    await assertProves(service, next, did)
    await assertEnded(service, old, REPLACED)
    assert.match(await certificate(), /Key number 2, since (?!.*Pending recovery)/)
    const listed = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
    const titles = listed.notifications
      .filter(({ kind }) => kind === 'agent_key_changed')
      .map(({ title }) => title)
    assert.deepEqual(titles, [
      'An agent: recovered key took effect',
      'An agent: recovery token redeemed',
      'An agent: key recovery started',
    ])
    assert.deepEqual(await historyOf(service, did), [
      [1, 'retired', 'claim'],
      [2, 'current', 'recovery'],
    ])
    assert.equal((await keysOf(service, did)).recovery, null)
    assert.deepEqual(await statusOf(service, did), ['active', null])
    assert.deepEqual(await eventTypesOf(service, did), [
      'agent.key_recovery_started',
      'agent.key_recovery_redeemed',
      'agent.key_recovered',
    ])
    assert.equal((await recover(token)).status, 200, 'a repeated redemption')
    const thief = await service.operator.addVerifiedOwner()
    const stolen = await claimKey(service, thief, old, 'mine')
    assertRefused(stolen, 409, 'KEY_ALREADY_CLAIMED', /reserved/)
  })

  test('of a compromised key burns it and suspends the agent at once, also if the token is never used', async () => {
    const { service, owner, old, next, did, recover, vetoBy, changed } = await withAgent()
    await startRecovery(owner, did, 'key_compromised')
    await assertEnded(service, old, REPORTED)
    assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
    assertRefused(await vetoBy(old), 403, 'FORBIDDEN', /compromised/)
    const rotated = await rotateTo(service, did, { old, next: newKey(), sequence: 2 }, clock.signed)
    assertRefused(rotated, 409, 'AGENT_NOT_ACTIVE')

    clock.advance(1)
    const later = await signInBy(service, owner.ownerId, clock.now)
    const fresh = await later.post(`${AGENTS}/${did}/recovery/token`)
    assert.equal(fresh.status, 201, fresh.text)
    const token = jsonOf(fresh).recoveryToken as string
    assertRefused(await recover(token, old), 409, 'KEY_ALREADY_CLAIMED', /compromised/)
    assert.equal((await recover(token)).status, 200)
    assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
    clock.advance(74)
    await changed()
    await assertProves(service, next, did)
    assert.deepEqual(await statusOf(service, did), ['active', null])
    await assertEnded(service, old, REPORTED)
  })

  test('can be cancelled by the owner: the burned key and the suspension stay', async () => {
    const { service, owner, old, did, recover } = await withAgent()
    const token = await startRecovery(owner, did, 'key_compromised')
    assert.equal((await recover(token)).status, 200)
    const cancel = () => owner.send('DELETE', `${AGENTS}/${did}/recovery`)
    assert.equal((await cancel()).status, 204)
    assertRefused(await cancel(), 409, 'CONFLICT')
    assertRefused(await recover(token), 404, 'NOT_FOUND')
    assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
    await assertEnded(service, old, REPORTED)
    assertRefused(await owner.post(`${AGENTS}/${did}/reactivate`), 403, 'FORBIDDEN')
    const jobs = await service.operator.db.read.selectFrom('jobs').select('kind').execute()
    assert.ok(!jobs.some(({ kind }) => kind === 'complete-recovery'))
    assert.equal((await eventTypesOf(service, did)).at(-1), 'agent.key_recovery_cancelled')
  })

  test('of a lost key ends if the old key vetoes or is rotated', async () => {
    const { service, owner, old, did, recover, vetoBy } = await withAgent()
    assertRefused(await vetoBy(old), 409, 'CONFLICT', /pending/)
    const first = await startRecovery(owner, did, 'key_lost')
    await recover(first)
    assertRefused(await vetoBy(old, 2), 409, 'CONFLICT', /sequence 1/)
    assertRefused(await vetoBy(newKey()), 401, 'INVALID_SIGNATURE')
    const signed = vetoBy(old, 1, { operation: 'renounce' })
    assertRefused(await signed, 401, 'INVALID_SIGNATURE')
    const vetoed = await vetoBy(old)
    assert.deepEqual([vetoed.status, jsonOf(vetoed)], [200, { svcDid: did, keySequence: 1 }])
    assertRefused(await recover(first), 404, 'NOT_FOUND')

    const second = await startRecovery(owner, did, 'key_lost')
    await recover(second)
    const next = newKey()
    assert.equal(
      (await rotateTo(service, did, { old, next, sequence: 2 }, clock.signed)).status,
      200,
    )
    assert.equal((await keysOf(service, did)).recovery, null)
    clock.advance(80)
    service.tick()
    await assertProves(service, next, did)
    assert.deepEqual((await eventTypesOf(service, did)).slice(2), [
      'agent.key_recovery_vetoed',
      'agent.key_recovery_started',
      'agent.key_recovery_redeemed',
      'agent.key_rotated',
      'agent.key_recovery_cancelled',
    ])
  })

  test('needs a recent sign-in by a passkey or provider of 72 hours', async () => {
    const { service, ownerId, did } = await withAgent()
    const start = async (how: Parameters<typeof signInBy>[3]) => {
      const owner = await signInBy(service, ownerId, clock.now, how)
      return owner.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
    }
    const young = clock.now() - 71 * HOUR_MS
    for (const how of [
      { method: 'link' },
      { method: 'recovery-code' },
      { method: 'passkey', addedAt: young },
      { method: 'provider', addedAt: young },
      { method: 'passkey', signedInAt: clock.now() - HOUR_MS },
      { method: 'provider', signedInAt: clock.now() - HOUR_MS },
    ] as const) {
      assertRefused(await start(how), 403, 'RECENT_SIGN_IN_REQUIRED')
    }
    assert.equal((await keysOf(service, did)).recovery, null)
    assert.equal((await start({ method: 'provider' })).status, 201)
    const another = await signInBy(service, await service.operator.addVerifiedOwner(), clock.now)
    const foreign = await another.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
    assertRefused(foreign, 404, 'NOT_FOUND')
    const owner = await ownerById(service.operator.db.read, ownerId)
    const addedAt = owner?.created_at as number
    const made = await signInBy(service, ownerId, clock.now, { addedAt })
    const fresh = await made.post(`${AGENTS}/${did}/recovery/token`)
    assert.equal(fresh.status, 201, 'the passkey with which the account was made')
  })

  test('has tokens for 10 minutes, of which only the newest counts, and only its signature', async () => {
    const { service, owner, next, did, recover } = await withAgent()
    const first = await startRecovery(owner, did, 'key_lost')
    const fresh = jsonOf(await owner.post(`${AGENTS}/${did}/recovery/token`))
    const token = fresh.recoveryToken as string
    assertRefused(await recover(first), 404, 'NOT_FOUND')
    assertRefused(await recover(`svc-recover-${'0'.repeat(32)}`), 404, 'NOT_FOUND')
    assertRefused(await recover('svc-verify-00'), 400, 'VALIDATION_ERROR')
    assertRefused(await recover(token, next, 3), 409, 'CONFLICT')
    const asked = { token, next, sequence: 2 }
    for (const wrong of [
      { first: 0x20 },
      { operation: 'rotate' },
      { token: null },
      { token: first },
      { old: newKey() },
      { next: newKey() },
      { did: `svc:agent:${'1'.repeat(24)}` },
    ] as const) {
      const refused = await unchanged(service, () =>
        recoverWith(service, did, asked, { ...clock.signed, ...wrong }),
      )
      assertRefused(refused, 401, 'INVALID_SIGNATURE')
    }
    clock.advance(1 / 6)
    assertRefused(await recover(token), 410, 'TOKEN_EXPIRED', /expired/)
  })

  test('lifts only the suspension of a burned key, never that of the operator or of the owner', async () => {
    const { service, ownerId, owner, old, next, did, recover } = await withAgent('immediate')
    const second = newKey()
    const byOwner = await claimAgent(service, ownerId, second, 'second')
    await owner.post(`${AGENTS}/${byOwner}/suspend`, { reason: 'maintenance' })
    const other = await startRecovery(owner, byOwner, 'key_compromised')
    const asked = { token: other, next: newKey(), sequence: 2 }
    assert.equal((await recoverWith(service, byOwner, asked, clock.signed)).status, 200)
    assert.deepEqual(await statusOf(service, byOwner), ['suspended', 'maintenance'])
    assert.equal((await owner.post(`${AGENTS}/${byOwner}/reactivate`)).status, 200)

    const token = await startRecovery(owner, did, 'key_compromised')
    await setStatus(service, did, 'suspended', 'abuse', 'operator')
    assert.equal((await recover(token)).status, 200)
    assert.deepEqual(await statusOf(service, did), ['suspended', 'abuse'])
    assertRefused(await owner.post(`${AGENTS}/${did}/reactivate`), 403, 'FORBIDDEN', /operator/)
    await setStatus(service, did, 'active', null, 'operator')
    await assertProves(service, next, did)
    await assertEnded(service, old, REPORTED)
    const suspended = await service.operator.db.read
      .selectFrom('suspended_keys')
      .selectAll()
      .execute()
    assert.deepEqual(suspended, [])
  })

  test('ends with a revocation, and if its new key is burned or taken meanwhile', async () => {
    const { service, ownerId, owner, next, did, recover } = await withAgent()
    await recover(await startRecovery(owner, did, 'key_lost'))
    const holder = await claimAgent(service, ownerId, next, 'holder')
    await owner.post(`${AGENTS}/${holder}/revoke`, { reason: 'key_compromised' })
    assert.equal((await keysOf(service, did)).recovery, null)

    const taken = newKey()
    await recover(await startRecovery(owner, did, 'key_lost'), taken)
    const another = await service.operator.addVerifiedOwner()
    assert.equal((await claimKey(service, another, taken, 'x')).status, 200)
    clock.advance(73)
    await untilTicked(service, async () => (await keysOf(service, did)).recovery === null)
    assert.equal((await keysOf(service, did)).keySequence, 1)

    const later = await signInBy(service, ownerId, clock.now)
    await startRecovery(later, did, 'key_lost')
    await later.post(`${AGENTS}/${did}/revoke`)
    assert.equal((await keysOf(service, did)).recovery, null)
    const again = await later.post(`${AGENTS}/${did}/recovery`, { reason: 'key_lost' })
    assertRefused(again, 409, 'AGENT_NOT_ACTIVE')
    assert.equal(jsonOf(await ask(service, `/api/agents/${did}`)).status, 'revoked')
  })
})
