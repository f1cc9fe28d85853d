import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { AgentKeys, Notifications, Renounced } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { renounceWith, reportWith, rotateTo } from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { ownerById } from '../../../src/accounts/owner-table.ts'
import { claimKey, eventTypesOf, statusOf } from '../manage/keys.ts'
import {
  AGENTS,
  assertEnded,
  assertProves,
  HOUR_MS,
  historyOf,
  keysOf,
  REPORTED,
  recoverWith,
  signInBy,
  startRecovery,
  TestClock,
  veto,
} from './with-keys.ts'

const RENOUNCED = ['suspended', 'renounced_by_agent']
const REFUSED = /This key has renounced the agent\. Recover it with a new key, or report the key\./

/** The table of states in docs/key-recovery.md, "Give an agent up". */
suite('an agent that its key has renounced', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  before(async () => {
    service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  async function withAgent() {
    const ownerId = await service.operator.addVerifiedOwner()
    const [key, next] = [newKey(), newKey()]
    const did = await claimAgent(service, ownerId, key)
    const owner = () => signInBy(service, ownerId, clock.now)
    const post = async (path: string, body: object = {}) =>
      (await owner()).post(`${AGENTS}/${did}${path}`, body)
    return {
      ...{ ownerId, owner, post, key, next, did },
      renounce: (old = key, sequence = 1) =>
        renounceWith(service, did, { old, sequence }, clock.signed),
      rotate: (old = key, sequence = 2) =>
        rotateTo(service, did, { old, next, sequence }, clock.signed),
      start: async (reason: 'key_lost' | 'key_compromised') =>
        startRecovery(await owner(), did, reason),
      redeem: (token: string, sequence = 2) =>
        recoverWith(service, did, { token, next, sequence }, clock.signed),
      reached: (status: string, keySequence = 1) =>
        untilTicked(service, async () => {
          const keys = await keysOf(service, did)
          return (await statusOf(service, did))[0] === status && keys.keySequence === keySequence
        }),
    }
  }

  type Renouncing = Awaited<ReturnType<typeof withAgent>>

  async function renounced(agent?: Renouncing): Promise<Renouncing> {
    const renouncing = agent ?? (await withAgent())
    const answer = await renouncing.renounce()
    assert.equal(answer.status, 200, answer.text)
    return renouncing
  }

  const jobsOf = async (did: string) =>
    (await service.operator.db.read.selectFrom('jobs').select('id').execute()).filter(({ id }) =>
      id.includes(did.slice(-24)),
    )

  /** Asserts that the agent is not revoked, even long after the 72 hours. */
  async function assertNeverEnds({ did }: Renouncing, status: readonly unknown[]) {
    assert.deepEqual(await jobsOf(did), [])
    assert.equal((await keysOf(service, did)).renouncing, null)
    clock.advance(200)
    service.tick()
    assert.deepEqual(await statusOf(service, did), status)
  }

  test('is suspended at once, says until when, and a repetition changes nothing', async () => {
    const agent = await withAgent()
    const answer = await agent.renounce()
    const { statusChangedAt, finalAt, ...rest } = jsonOf<Renounced>(answer)
    const [status, statusReason] = RENOUNCED
    assert.deepEqual(rest, { svcDid: agent.did, status, statusReason })
    const wait = Date.parse(String(finalAt)) - clock.now()
    assert.ok(wait > 71 * HOUR_MS && wait <= 72 * HOUR_MS)
    assert.deepEqual(await statusOf(service, agent.did), RENOUNCED)
    assert.deepEqual((await keysOf(service, agent.did)).renouncing, { finalAt })
    clock.advance(1)
    const again = await unchanged(service, () => agent.renounce())
    assert.deepEqual(jsonOf(again), { ...rest, statusChangedAt, finalAt })
    const listed = jsonOf<Notifications>(
      await (await agent.owner()).get('/api/account/notifications'),
    )
    const about = listed.notifications.filter(({ link }) => link?.includes(agent.did))
    assert.deepEqual(
      about.map(({ kind, title, security }) => [kind, title, security]),
      [['agent_renounced', 'An agent: certificate renounced', true]],
    )
  })

  test('is revoked by the service after 72 hours; its key is free then, and not before', async () => {
    const agent = await renounced()
    const other = await service.operator.addVerifiedOwner()
    const claim = () => claimKey(service, other, agent.key, 'main')
    clock.advance(71)
    service.tick()
    assertRefused(await claim(), 409, 'KEY_ALREADY_CLAIMED')
    assert.deepEqual(await statusOf(service, agent.did), RENOUNCED)
    clock.advance(1)
    await agent.reached('revoked')
    assert.deepEqual(await statusOf(service, agent.did), ['revoked', 'renounced_by_agent'])
    const row = await service.operator.db.read
      .selectFrom('agents')
      .select(['status_set_by', 'renounce_final_at'])
      .where('tail', '=', agent.did.slice(-24))
      .executeTakeFirstOrThrow()
    assert.deepEqual({ ...row }, { status_set_by: 'service', renounce_final_at: null })
    assert.equal((await claim()).status, 200)
    const late = await unchanged(service, () => agent.renounce())
    assert.deepEqual([late.status, jsonOf(late).finalAt], [200, null])
  })

  test('is not renounced, but burned and suspended, once its owner, the operator or the key reports the key', async () => {
    const reports: ((agent: Renouncing) => Promise<unknown>)[] = [
      async ({ post }) =>
        assert.equal((await post('/keys/compromised', { sequence: 1 })).status, 200),
      async ({ did }) => {
        const { code, stdout } = await countersignd(service.env, 'agent', 'report-key', did)
        assert.equal(code, 0)
        assert.match(
          stdout,
          /^Key 1 of .* is burned: nobody can use it any more\. The agent is suspended\./,
        )
      },
      async ({ did, key }) => {
        const answer = await reportWith(service, did, { old: key, sequence: 1 }, clock.signed)
        assert.equal(answer.status, 200, answer.text)
      },
    ]
    for (const report of reports) {
      const agent = await renounced()
      await report(agent)
      await untilTicked(service, async () =>
        (await statusOf(service, agent.did)).includes('key_compromised'),
      )
      await assertEnded(service, agent.key, REPORTED)
      await assertNeverEnds(agent, ['suspended', 'key_compromised'])
      const token = await agent.start('key_compromised')
      assert.equal((await agent.redeem(token)).status, 200)
      clock.advance(73)
      await agent.reached('active', 2)
      await assertProves(service, agent.next, agent.did)
    }
  })

  test('after a rotation: a contest burns both keys, and a mistake is no reason', async () => {
    const agent = await withAgent()
    assert.equal((await agent.rotate()).status, 200)
    assert.equal((await agent.renounce(agent.next, 2)).status, 200)
    const mistake = { sequence: 1, reason: 'mistake' }
    assertRefused(await agent.post('/keys/contest', mistake), 409, 'CONFLICT', REFUSED)
    const contest = { sequence: 1, reason: 'key_compromised' }
    assert.equal((await agent.post('/keys/contest', contest)).status, 200)
    for (const key of [agent.key, agent.next]) await assertEnded(service, key, REPORTED)
    await assertNeverEnds(agent, ['suspended', 'key_compromised'])
    const token = await agent.start('key_lost')
    const third = newKey()
    const redeemed = { token, next: third, sequence: 3 }
    assert.equal((await recoverWith(service, agent.did, redeemed, clock.signed)).status, 200)
    clock.advance(73)
    await agent.reached('active', 3)
    await assertProves(service, third, agent.did)
  })

  test('waits for a recovery that was redeemed before the end: active with the new key, and the old one is free', async () => {
    const agent = await renounced()
    clock.advance(71)
    assert.equal((await agent.redeem(await agent.start('key_lost'))).status, 200)
    clock.advance(2)
    service.tick()
    assert.deepEqual(await statusOf(service, agent.did), RENOUNCED)
    clock.advance(71)
    await agent.reached('active', 2)
    await assertProves(service, agent.next, agent.did)
    assert.deepEqual(await historyOf(service, agent.did), [
      [1, 'renounced', 'claim'],
      [2, 'current', 'recovery'],
    ])
    const victim = await service.operator.addVerifiedOwner()
    assert.equal((await claimKey(service, victim, agent.key, 'main')).status, 200)
    const back = { old: agent.next, next: agent.key, sequence: 3 }
    const refused = await rotateTo(service, agent.did, back, clock.signed)
    assertRefused(refused, 409, 'KEY_ALREADY_CLAIMED')
    await assertNeverEnds(agent, ['active', null])
  })

  test('is revoked at once if the recovery is cancelled after the end, and at the end if before', async () => {
    const late = await renounced()
    assert.equal((await late.redeem(await late.start('key_lost'))).status, 200)
    clock.advance(71)
    const early = await renounced()
    assert.equal((await early.redeem(await early.start('key_lost'))).status, 200)
    clock.advance(0.9)
    const cancel = async ({ did, owner }: Renouncing) =>
      (await owner()).send('DELETE', `${AGENTS}/${did}/recovery`)
    // The recovery takes effect a little later than the end.
    await service.operator.db.write(async (tx) => {
      const at = clock.now() + 10 * HOUR_MS
      const tail = late.did.slice(-24)
      await tx.db
        .updateTable('key_recoveries')
        .set({ effective_at: at })
        .where('tail', '=', tail)
        .execute()
      const job = `complete-recovery:${tail}`
      await tx.db.updateTable('jobs').set({ run_at: at }).where('id', '=', job).execute()
    })
    clock.advance(1)
    service.tick()
    assert.deepEqual(await statusOf(service, late.did), RENOUNCED)
    for (const each of [late, early]) assert.equal((await cancel(each)).status, 204)
    await late.reached('revoked')
    service.tick()
    assert.deepEqual(await statusOf(service, early.did), RENOUNCED)
    clock.advance(72)
    await early.reached('revoked')
  })

  test('is revoked in spite of a recovery that nobody redeemed', async () => {
    const agent = await renounced()
    await agent.start('key_lost')
    clock.advance(72)
    await agent.reached('revoked')
    assert.equal((await keysOf(service, agent.did)).recovery, null)
    assert.deepEqual(await jobsOf(agent.did), [])
  })

  test('has no way back to its key: no reactivation, rotation or veto', async () => {
    const agent = await withAgent()
    await agent.start('key_lost')
    await renounced(agent)
    const { did, key } = agent
    const vetoed = () => veto(service, did, { old: key, sequence: 1 }, clock.signed)
    const owner = await agent.owner()
    const reactivated = () => owner.post(`${AGENTS}/${did}/reactivate`, {})
    for (const request of [reactivated, () => agent.rotate(), vetoed]) {
      const answer = await unchanged(service, request)
      assertRefused(answer, 409, 'CONFLICT', REFUSED)
    }
    const { code, stderr } = await countersignd(service.env, 'agent', 'reactivate', did)
    assert.notEqual(code, 0)
    assert.match(stderr, REFUSED)
    assert.deepEqual(await statusOf(service, did), RENOUNCED)
  })

  test('stays so when the operator lifts a suspension, which a recovery does not lift', async () => {
    const agent = await withAgent()
    await setStatus(service, agent.did, 'suspended', 'abuse', 'operator')
    await renounced(agent)
    const tail = agent.did.slice(-24)
    const reactivate = () => countersignd(service.env, 'agent', 'reactivate', tail)
    assert.equal((await reactivate()).code, 0)
    assert.deepEqual(await statusOf(service, agent.did), RENOUNCED)

    // Twice recovered and renounced in between: the operator's suspension is still there.
    const abuser = await withAgent()
    await setStatus(service, abuser.did, 'suspended', 'abuse', 'operator')
    assert.equal((await abuser.redeem(await abuser.start('key_lost'))).status, 200)
    clock.advance(73)
    await abuser.reached('suspended', 2)
    assert.equal((await abuser.renounce(abuser.next, 2)).status, 200)
    const third = { token: await abuser.start('key_lost'), next: newKey(), sequence: 3 }
    assert.equal((await recoverWith(service, abuser.did, third, clock.signed)).status, 200)
    clock.advance(73)
    await abuser.reached('suspended', 3)
    assert.deepEqual(await statusOf(service, abuser.did), ['suspended', 'abuse'])
    assertRefused(await abuser.post('/reactivate'), 403, 'FORBIDDEN')
    assert.equal((await countersignd(service.env, 'agent', 'reactivate', abuser.did)).code, 0)
    await abuser.reached('active', 3)
  })

  test('ends with a revocation, and with the account of its owner', async () => {
    const revoked = await renounced()
    assert.equal((await revoked.post('/revoke', { reason: 'no_longer_used' })).status, 200)
    await assertNeverEnds(revoked, ['revoked', 'no_longer_used'])

    const erased = await renounced()
    const owner = await erased.owner()
    const { username } = (await ownerById(service.operator.db.read, erased.ownerId)) ?? {}
    const deleted = await owner.post('/api/account/deletion', { username })
    assert.ok(deleted.status < 300, deleted.text)
    await erased.reached('revoked')
    await assertNeverEnds(erased, ['revoked', 'owner_deleted'])
  })

  test('a key that a contest has brought back is free as well once it has renounced the agent', async () => {
    const agent = await withAgent()
    assert.equal((await agent.rotate()).status, 200)
    const mistake = await agent.post('/keys/contest', { sequence: 1, reason: 'mistake' })
    assert.equal(mistake.status, 200, mistake.text)
    assert.equal((await agent.renounce(agent.key, 3)).status, 200)
    clock.advance(73)
    await agent.reached('revoked', 3)
    const other = await service.operator.addVerifiedOwner()
    assert.equal((await claimKey(service, other, agent.key, 'main')).status, 200)
  })

  test('a stolen key does not end a DID for good', async () => {
    const agent = await withAgent()
    // The thief has a copy of the key, and an account of their own.
    const thief = await service.operator.addVerifiedOwner()
    await renounced(agent)
    assertRefused(await claimKey(service, thief, agent.key, 'mine'), 409, 'KEY_ALREADY_CLAIMED')
    clock.advance(24)
    const reported = await agent.post('/keys/compromised', { sequence: 1 })
    assert.equal(reported.status, 200, reported.text)
    assert.equal(jsonOf<AgentKeys>(reported).keys[0]?.state, 'compromised')
    assert.equal((await agent.redeem(await agent.start('key_compromised'))).status, 200)
    clock.advance(100)
    await agent.reached('active', 2)
    await assertProves(service, agent.next, agent.did)
    const stolen = await claimKey(service, thief, agent.key, 'mine')
    assertRefused(stolen, 409, 'KEY_ALREADY_CLAIMED', /reported as compromised/)
    assert.equal(jsonOf(await ask(service, `/api/v1/agent/${agent.did}`)).verified, true)
    assert.ok((await eventTypesOf(service, agent.did)).includes('agent.renounced'))
  })
})
