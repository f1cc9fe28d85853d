import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { certificateOf } from '../../../../test/support/agent-certificates.ts'
import { newKey } from '../../../../test/support/key.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { agentByTail, unrevokedAgentsOfKey } from '../../src/agents/agent-table.ts'
import type { ChangeType } from '../../src/agents/changes/change.ts'
import { type AgentEffect, changeAgent } from '../../src/agents/changes/change-agent.ts'
import { RULES } from '../../src/agents/changes/changes.ts'
import { revokeAgent, setStatus } from '../../src/agents/changes/set-status.ts'
import type { AgentRow, Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'
import { ChangeWatcher, TABLE } from './change-table.ts'

const SUSPENDED = { to: 'suspended', reason: null, setBy: 'owner' } as const

suite('changeAgent', () => {
  const ends: (() => unknown)[] = []
  let service: TestService
  before(async () => {
    service = await startTestService({ after: (end) => ends.push(end) }, { KEY_REUSE: 'any' })
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  const claim = async () =>
    (await claimAgent(service, await service.operator.addVerifiedOwner())).slice(-24)

  /** What tables have about an agent. */
  const rowsAbout = async (tail: string) => {
    const { read } = service.operator.db
    const events = await read.selectFrom('events').selectAll().where('tail', '=', tail).execute()
    const { owner_id: ownerId, ...agent } = (await agentByTail(read, tail)) as AgentRow
    const notifications = await read
      .selectFrom('notifications')
      .select('subject')
      .where('owner_id', '=', ownerId)
      .execute()
    const queued = await read
      .selectFrom('log_queue')
      .select('type')
      .where('tail', '=', tail)
      .where('type', '<>', 'claimed')
      .execute()
    return { agent, events, notifications, queued }
  }

  test('is rolled back whole if an effect throws, alone among the writes of its group', async () => {
    const [good, bad, later] = [await claim(), await claim(), await claim()]
    const before = await rowsAbout(bad)
    const throws: AgentEffect = {
      on: ['agent.suspended'],
      makes: [],
      async run(_tx, { after: { tail } }) {
        if (tail === bad) throw new Error('the effect failed')
      },
    }
    const agentChanged = [...EFFECTS.agentChanged, throws]
    const db: Database = await openDatabase(service.settings.database, Date.now, {
      ...EFFECTS,
      agentChanged,
    })
    try {
      const ended = await Promise.allSettled(
        [good, bad, later].map((tail) =>
          db.write((tx) => setStatus(tx, tail, SUSPENDED, Date.now())),
        ),
      )
      assert.deepEqual(
        ended.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
    } finally {
      await db.close()
    }
    assert.deepEqual(await rowsAbout(bad), before)
    // The group ran twice, and each of the others has changed once.
    for (const tail of [good, later]) {
      const { agent, events, notifications } = await rowsAbout(tail)
      assert.equal(agent.status, 'suspended')
      assert.deepEqual(
        events.map(({ type }) => type),
        ['agent.claimed', 'agent.suspended', 'agent.grade_changed'],
      )
      assert.equal(notifications.length, 1)
    }
  })

  test('reads the agent again, so that nothing tells of a row that an earlier change has replaced', async () => {
    const tail = await claim()
    const entry = await service.operator.db.write(async (tx) => {
      const next = new Uint8Array(Buffer.from(newKey().publicKey, 'base64'))
      const at = Date.now()
      await agentByTail(tx.db, tail)
      const recovered = { type: 'agent.key_recovered', newKey: next, reason: 'key_lost' } as const
      const { key_thumbprint: thumbprint } = await changeAgent(tx, tail, recovered, at)
      await setStatus(tx, tail, SUSPENDED, at)
      const queued = await tx.db
        .selectFrom('log_queue')
        .select('entry')
        .where('tail', '=', tail)
        .where('type', '=', 'status')
        .executeTakeFirstOrThrow()
      return { thumbprint, ...(JSON.parse(queued.entry) as { key: string; keySequence: number }) }
    })
    assert.equal(entry.keySequence, 2)
    assert.equal(entry.key, Buffer.from(entry.thumbprint as Uint8Array).toString('base64url'))
  })

  test('of a burned key suspends or revokes each agent that has it, and then reports the key', async () => {
    const key = newKey()
    const owners = [1, 2, 3].map(() => service.operator.addVerifiedOwner())
    const tails: string[][] = []
    for (const owner of await Promise.all(owners)) {
      const own: string[] = []
      for (let i = 0; i < 10; i++) {
        own.push((await claimAgent(service, owner, key, `${owner} ${i}`)).slice(-24))
      }
      tails.push(own)
    }
    const { db } = service.operator
    const publicKey = new Uint8Array(Buffer.from(key.publicKey, 'base64'))
    const revocation = { reason: 'key_compromised', setBy: 'owner' } as const
    const revoked = await db.write(async (tx) => {
      const [first] = await unrevokedAgentsOfKey(tx.db, publicKey)
      return revokeAgent(tx, first as AgentRow, revocation, Date.now())
    })
    const isRevokedOwner = (own: readonly string[]) => own.includes(revoked[0] as string)
    for (const own of tails) {
      const change = isRevokedOwner(own) ? 'agent.revoked' : 'agent.suspended'
      for (const tail of own) {
        const { events } = await rowsAbout(tail)
        assert.deepEqual(
          events.toSorted((a, b) => a.seq - b.seq).map(({ type }) => type),
          ['agent.claimed', change, 'agent.grade_changed', 'agent.key_compromised'],
        )
      }
    }
    assert.equal(revoked.length, 10)
  })

  test('leaves the same beside a running service, by a command of the operator', async () => {
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    await certificateOf(service, did)
    const watcher = new ChangeWatcher(service, did, Date.now)
    await watcher.skip()
    const types: ChangeType[] = ['agent.revoked', 'agent.grade_changed']
    await watcher.expect({ types, by: 'operator', entry: 'invalid' }, async () => {
      const { code, stderr } = await countersignd(service.env, 'agent', 'revoke', did)
      assert.equal(code, 0, stderr)
    })
  })
})

test('each kind of change has a rule, and the table of the tests a row', () => {
  assert.deepEqual(Object.keys(RULES).toSorted(), Object.keys(TABLE).toSorted())
})

test('no effect causes itself', () => {
  const caused = (type: ChangeType): ChangeType[] => [
    ...EFFECTS.agentChanged.flatMap(({ on, makes }) => (on.includes(type) ? makes : [])),
    ...(RULES[type].certificates === 'regrade' ? (['agent.grade_changed'] as const) : []),
  ]
  for (const start of Object.keys(RULES) as ChangeType[]) {
    const reached = new Set<ChangeType>()
    const walk = (type: ChangeType) => {
      for (const next of caused(type)) {
        assert.notEqual(next, start, `${start} causes itself`)
        if (!reached.has(next)) walk(next)
        reached.add(next)
      }
    }
    walk(start)
  }
})
