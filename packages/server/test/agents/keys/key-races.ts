import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { certificateOf, decodeJws } from '../../../../../test/support/agent-certificates.ts'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { createGroup, endGroup } from '../../../../../test/support/delegation-groups.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  endDelegationsWith,
  renounceBody,
  renounceWith,
  reportWith,
  rotateTo,
  rotationBody,
} from '../../../../../test/support/key-operations.ts'
import { type Cleanup, claimAgent, type TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { referenceIn } from '../../../../../test/support/status-feed.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'
import { eventTypesOf, statusOf } from '../manage/keys.ts'
import {
  AGENTS,
  assertProves,
  historyOf,
  keysOf,
  recoverWith,
  signInBy,
  startRecovery,
  veto,
} from './with-keys.ts'

const ROUNDS = 6

/** A service with `RECOVERY_DELAY=0`. */
export interface RacedService {
  readonly service: TestService
  /** Waits until assertions about the outcome of a race hold, wherever they are asked: workers follow each other's changes. */
  readonly settled: (assertion: () => Promise<void>) => Promise<void>
}

interface Racer {
  readonly did: string
  readonly old: TestKey
  readonly rotated: TestKey
  readonly recovered: TestKey
  readonly token: string
}

function statuses(answers: readonly Answer[]): number[] {
  for (const { status, text } of answers) assert.ok(status < 500, text)
  return answers.map(({ status }) => status)
}

/** The tests of operations on the same key at the same time. @param more registers tests that run after them */
export function keyRaces(
  name: string,
  start: (t: Cleanup) => Promise<RacedService>,
  more: () => void = () => undefined,
): void {
  suite(name, () => {
    const ends: (() => unknown)[] = []
    let service: TestService
    let settled: RacedService['settled']
    let owner: SignedInOwner

    before(async () => {
      const started = await start({ after: (end) => ends.push(end) })
      service = started.service
      settled = started.settled
      const ownerId = await service.operator.addVerifiedOwner()
      owner = await signInBy(service, ownerId, Date.now)
    })

    after(async () => {
      for (const end of ends.toReversed()) await end()
    })

    /** An agent with a key that is to be rotated, and a recovery that is to be redeemed. */
    async function racer(round: number): Promise<Racer> {
      const [old, rotated, recovered] = [newKey(), newKey(), newKey()]
      const did = await claimAgent(service, owner.ownerId, old, `round ${round}`)
      const token = await startRecovery(owner, did, 'key_lost')
      return { did, old, rotated, recovered, token }
    }

    const rotation = ({ did, old, rotated }: Racer) =>
      rotateTo(service, did, { old, next: rotated, sequence: 2 })
    const redemption = ({ did, token, recovered }: Racer) =>
      recoverWith(service, did, { token, next: recovered, sequence: 2 })
    const vetoOf = ({ did, old }: Racer) => veto(service, did, { old, sequence: 1 })

    test('of 25 rotations at once, one succeeds and the others get CONFLICT', async () => {
      const old = newKey()
      const did = await claimAgent(service, owner.ownerId, old, 'rotations')
      const nexts = Array.from({ length: 25 }, () => newKey())
      const bodies = nexts.map((next) => rotationBody(service, did, { old, next, sequence: 2 }))
      const answers = await Promise.all(
        bodies.map((body) => post(service, `/api/v1/agent/${did}/keys`, body)),
      )
      const winners = nexts.filter((_, i) => answers[i]?.status === 200)
      assert.equal(winners.length, 1)
      for (const answer of answers) {
        if (answer.status !== 200) assertRefused(answer, 409, 'CONFLICT')
      }
      await settled(() => assertProves(service, winners[0] as TestKey, did))
      assert.deepEqual(await eventTypesOf(service, did), ['agent.key_rotated'])
      assert.equal((await historyOf(service, did)).length, 2)
    })

    test('the same rotation sent 10 times at once succeeds 10 times, and is done once', async () => {
      const [old, next] = [newKey(), newKey()]
      const did = await claimAgent(service, owner.ownerId, old, 'repeated')
      const body = rotationBody(service, did, { old, next, sequence: 2 })
      const send = () => post(service, `/api/v1/agent/${did}/keys`, body)
      const answers = await Promise.all(Array.from({ length: 10 }, send))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
      assert.deepEqual(await eventTypesOf(service, did), ['agent.key_rotated'])
    })

    test('the same renouncing sent 10 times at once is done once, and all get its end', async () => {
      const old = newKey()
      const did = await claimAgent(service, owner.ownerId, old, 'renounced')
      const body = renounceBody(service, did, { old, sequence: 1 })
      const send = () => post(service, `/api/v1/agent/${did}/renounce`, body)
      const answers = await Promise.all(Array.from({ length: 10 }, send))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
      const types = await eventTypesOf(service, did)
      assert.deepEqual(types, ['agent.renounced', 'agent.suspended', 'agent.grade_changed'])
    })

    test('of a renouncing and reports of its key at once, the reports win', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const { did, old } = await racer(500 + round)
        const key = { old, sequence: 1 }
        const send = [
          () => renounceWith(service, did, key),
          () => reportWith(service, did, key),
          () => owner.post(`${AGENTS}/${did}/keys/compromised`, { sequence: 1 }),
        ]
        const order = round % 2 ? send : send.toReversed()
        statuses(await Promise.all(order.map((request) => request())))
        await settled(async () => {
          assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
          const { renouncing, keys } = await keysOf(service, did)
          assert.deepEqual([renouncing, keys.map(({ state }) => state)], [null, ['compromised']])
        })
        const types = await eventTypesOf(service, did)
        assert.equal(types.filter((type) => type === 'agent.key_compromised').length, 1)
      }
    })

    test('of 25 redemptions of one token at once, each with another key, one succeeds', async () => {
      const { did, token } = await racer(0)
      const nexts = Array.from({ length: 25 }, () => newKey())
      const asked = nexts.map((next) => recoverWith(service, did, { token, next, sequence: 2 }))
      const answers = await Promise.all(asked)
      const winners = nexts.filter((_, i) => answers[i]?.status === 200)
      assert.equal(winners.length, 1)
      statuses(answers)
      await settled(() => assertProves(service, winners[0] as TestKey, did))
      assert.equal((await historyOf(service, did)).length, 2)
    })

    test('of a rotation and a recovery at once, one succeeds', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const each = await racer(round)
        const [rotated, recovered] = statuses(await Promise.all([rotation(each), redemption(each)]))
        assert.notEqual(rotated === 200, recovered === 200)
        const current = rotated === 200 ? each.rotated : each.recovered
        await settled(() => assertProves(service, current, each.did))
        const { keySequence, recovery } = await keysOf(service, each.did)
        assert.deepEqual([keySequence, recovery], [2, null])
      }
    })

    test('of a recovery and a veto at once, one succeeds', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const each = await racer(100 + round)
        const [recovered, vetoed] = statuses(await Promise.all([redemption(each), vetoOf(each)]))
        assert.notEqual(recovered === 200, vetoed === 200)
        const current = recovered === 200 ? each.recovered : each.old
        await settled(() => assertProves(service, current, each.did))
        assert.equal((await keysOf(service, each.did)).recovery, null)
      }
    })

    const contestOf = ({ did }: Racer, reason: string) =>
      owner.post(`${AGENTS}/${did}/keys/contest`, { sequence: 1, reason })

    test('a revocation wins over everything that happens at the same time', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const each = await racer(200 + round)
        const reason = round % 2 ? 'key_compromised' : 'mistake'
        const others = [rotation(each), redemption(each), vetoOf(each), contestOf(each, reason)]
        const revoked = owner.post(`${AGENTS}/${each.did}/revoke`, round % 3 ? {} : { reason })
        statuses(await Promise.all(others))
        assert.equal((await revoked).status, 200)
        await settled(async () => {
          assert.equal((await statusOf(service, each.did))[0], 'revoked')
        })
        assert.equal((await keysOf(service, each.did)).recovery, null)
        const late = await rotateTo(service, each.did, {
          old: each.old,
          next: newKey(),
          sequence: 9,
        })
        assertRefused(late, 409, 'CONFLICT')
      }
    })

    test('of a rotation and a contest at once, both happen in one order, or the rotation gets 409', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const each = await racer(400 + round)
        await rotation(each)
        await startRecovery(owner, each.did, 'key_lost')
        const again = { old: each.rotated, next: newKey(), sequence: 3 }
        const send = [
          () => rotateTo(service, each.did, again),
          () => contestOf(each, 'mistake'),
        ] as const
        const order = round % 2 ? send : send.toReversed()
        const answers = statuses(await Promise.all(order.map((request) => request())))
        const [rotated, contested] = round % 2 ? answers : answers.toReversed()
        assert.equal(contested, 200)
        assert.ok(rotated === 200 || rotated === 409)
        const sequences = (await keysOf(service, each.did)).keys.map(({ sequence }) => sequence)
        const expected = rotated === 200 ? [1, 2, 3, 4] : [1, 2, 3]
        assert.deepEqual(sequences.toSorted(), expected)
        const types = await eventTypesOf(service, each.did)
        const ended = types.filter((type) => type === 'agent.key_recovery_cancelled')
        assert.equal(ended.length, 2, 'one a recovery')
      }
      const { read } = service.operator.db
      const events = await read.selectFrom('events').select('seq').orderBy('seq').execute()
      const log = await read
        .selectFrom('log_entries')
        .select('position')
        .orderBy('position')
        .execute()
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, i) => i + 1),
      )
      assert.deepEqual(
        log.map(({ position }) => position),
        log.map((_, i) => i),
      )
    })

    test('of 25 ends of delegations, a rotation, a suspension or a revocation at once, one entry at most stays current', async () => {
      const { read } = service.operator.db
      for (const [round, other] of ['rotation', 'suspend', 'revoke'].entries()) {
        const each = await racer(600 + round)
        const { did, old } = each
        const own = `${AGENTS}/${did}`
        const allowed = await owner.send('PUT', `${own}/delegation`, { maxDepth: 2 })
        assert.equal(allowed.status, 200, allowed.text)
        await settled(async () => {
          const { claims } = decodeJws(await certificateOf(service, did))
          assert.equal(claims.maxDelegationDepth, 2)
        })
        const before = referenceIn(await certificateOf(service, did))
        const end = () => endDelegationsWith(service, did, { old, sequence: 1 })
        const ends = Array.from({ length: 25 }, (_, i) =>
          i % 5 === 0 ? () => owner.post(`${own}/delegation/end`) : end,
        )
        const change = () => (other === 'rotation' ? rotation(each) : owner.post(`${own}/${other}`))
        const requests = [...ends.slice(0, 12), change, ...ends.slice(12)]
        const answers = await Promise.all(requests.map((request) => request()))
        assert.equal(answers[12]?.status, 200, answers[12]?.text)
        for (const status of statuses(answers)) {
          // The key was replaced, or the agent revoked, before.
          assert.ok([200, 401, 409].includes(status), `${other} ${status}`)
        }
        const entries = await read
          .selectFrom('status_entries')
          .selectAll()
          .where('tail', '=', did.slice(-24))
          .execute()
        const current = entries.filter(({ is_current }) => is_current === 1)
        assert.ok(current.length <= 1)
        for (const entry of entries) assert.ok(entry.is_current === 1 || entry.value === 1)
        const former = entries.find(({ list, idx }) => list === before.list && idx === before.idx)
        assert.equal(former?.value, 1, 'every earlier chain is refused')
      }
    })

    test('of groups of delegations that are created and ended beside a change of the agent, none outlives it', async () => {
      const { read } = service.operator.db
      for (const [round, other] of ['rotation', 'suspend', 'revoke', 'delegation/end'].entries()) {
        const each = await racer(700 + round)
        const agent = { did: each.did, key: each.old }
        const own = `${AGENTS}/${each.did}`
        const allowed = await owner.send('PUT', `${own}/delegation`, { maxDepth: 1 })
        assert.equal(allowed.status, 200, allowed.text)
        const create = () => createGroup(service, agent, 'raced')
        const created: string[] = []
        await settled(async () => {
          const answer = await create()
          assert.equal(answer.status, 201, answer.text)
          created.push(jsonOf<{ id: string }>(answer).id)
        })
        while (created.length < 4) created.push(jsonOf<{ id: string }>(await create()).id)
        const ends = created
          .slice(2)
          .flatMap((id) => [
            () => endGroup(service, agent, id),
            () => owner.post(`${own}/delegations/${id}/end`),
          ])
        const creates = Array.from({ length: 12 }, () => create)
        const change = () => (other === 'rotation' ? rotation(each) : owner.post(`${own}/${other}`))
        const requests = [...creates.slice(0, 6), ...ends, change, ...creates.slice(6)]
        const answers = await Promise.all(requests.map((request) => request()))
        assert.equal(answers[6 + ends.length]?.status, 200, other)
        for (const { status, text } of answers) {
          // 503: the node did not know of the change yet.
          assert.ok([200, 201, 401, 409, 503].includes(status), text)
        }
        const entries = await read
          .selectFrom('delegations')
          .innerJoin('status_entries', (join) =>
            join
              .onRef('status_entries.list', '=', 'delegations.list')
              .onRef('status_entries.idx', '=', 'delegations.idx'),
          )
          .select(['delegations.id', 'ended_by', 'value', 'is_current', 'key_sequence'])
          .where('delegations.tail', '=', each.did.slice(-24))
          .execute()
        for (const { id, ended_by, value, is_current } of entries) {
          assert.equal(is_current, 0)
          assert.equal(ended_by !== null, value === 1)
          const wasThere = created.includes(id)
          if (created.indexOf(id) >= 2 || (wasThere && other !== 'suspend')) assert.equal(value, 1)
          else if (other === 'suspend') assert.equal(value, 2)
          // Those of an end of all may have been created after it.
          else if (other !== 'delegation/end') assert.equal(value, 1)
        }
      }
    })

    test("the operator's suspension stays, whatever happens at the same time", async () => {
      const deps = { db: service.operator.db, now: Date.now }
      for (let round = 0; round < ROUNDS; round++) {
        const each = await racer(300 + round)
        const suspension = { to: 'suspended', reason: 'abuse', by: 'operator' } as const
        const tail = each.did.slice(-24) as Parameters<typeof changeStatus>[1]['tail']
        const others = [rotation(each), redemption(each), contestOf(each, 'mistake')]
        const suspended = changeStatus(deps, { tail, ...suspension })
        statuses(await Promise.all(others))
        await suspended
        // A read of the database: the read model of the service follows the operator's write within 100 ms.
        const row = await service.operator.db.read
          .selectFrom('agents')
          .select(['status', 'status_set_by'])
          .where('tail', '=', tail)
          .executeTakeFirstOrThrow()
        assert.deepEqual([row.status, row.status_set_by], ['suspended', 'operator'])
        const reactivated = await owner.post(`${AGENTS}/${each.did}/reactivate`)
        assertRefused(reactivated, 403, 'FORBIDDEN')
      }
    })

    more()
  })
}
