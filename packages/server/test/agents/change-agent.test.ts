import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { randomTail } from '@countersign/protocol'
import type { KyselyPlugin } from 'kysely'
import { certificateOf } from '../../../../test/support/agent-certificates.ts'
import { insertAgent } from '../../../../test/support/insert-agent.ts'
import { newKey } from '../../../../test/support/key.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { withRaw } from '../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { appendNotification } from '../../src/accounts/notifications/notify-owner.ts'
import { agentByTail, unrevokedAgentsOfKey } from '../../src/agents/agent-table.ts'
import type { ChangeType } from '../../src/agents/changes/change.ts'
import { type AgentEffect, changeAgent } from '../../src/agents/changes/change-agent.ts'
import { RULES } from '../../src/agents/changes/changes.ts'
import { revokeAgent, setStatus } from '../../src/agents/changes/set-status.ts'
import type { AgentRow, Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'
import { ChangeWatcher, TABLE } from './change-table.ts'

const AGENTS_OF_KEY = ON_POSTGRES ? 60 : 500
/** For each agent: its status, grade, entry in the log, notification, certificate, channels, recovery, key, groups of delegations, and enrolment. */
const STATEMENTS_OF_BURNED_KEY = 20
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

  /** Suspends agents in one group of writes. */
  const suspendAll = (db: Database, tails: readonly string[]) =>
    Promise.allSettled(
      tails.map((tail) => db.write((tx) => setStatus(tx, tail, SUSPENDED, Date.now()))),
    )

  /** Asserts that of three changes in a group, the second is rolled back whole, and each of the others is made once. */
  async function assertAlone(
    tails: readonly string[],
    change: () => ReturnType<typeof suspendAll>,
  ) {
    const [good, bad, later] = tails as [string, string, string]
    const before = await rowsAbout(bad)
    const ended = await change()
    assert.deepEqual(
      ended.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await rowsAbout(bad), before)
    // The group ran twice.
    for (const tail of [good, later]) {
      const { agent, events, notifications } = await rowsAbout(tail)
      assert.equal(agent.status, 'suspended')
      assert.deepEqual(
        events.map(({ type }) => type),
        ['agent.claimed', 'agent.suspended', 'agent.grade_changed'],
      )
      assert.equal(notifications.length, 1)
    }
  }

  test('is rolled back whole if an effect throws, alone among the writes of its group', async () => {
    const tails = [await claim(), await claim(), await claim()]
    const throws: AgentEffect = {
      on: ['agent.suspended'],
      makes: [],
      async run(_tx, { after: { tail } }) {
        if (tail === tails[1]) throw new Error('the effect failed')
      },
    }
    const agentChanged = [...EFFECTS.agentChanged, throws]
    const db: Database = await openDatabase(service.settings.database, Date.now, {
      ...EFFECTS,
      agentChanged,
    })
    try {
      await assertAlone(tails, () => suspendAll(db, tails))
    } finally {
      await db.close()
    }
  })

  test('is rolled back whole if its notification throws', async () => {
    const tails = [await claim(), await claim(), await claim()]
    const { db } = service.operator
    const { owner_id: ownerId } = (await agentByTail(db.read, tails[1] as string)) as AgentRow
    await withRaw(service.settings, (raw) =>
      raw.exec(`create unique index refused on notifications ((1)) where owner_id = ${ownerId}`),
    )
    const notification = { ownerId, kind: 'account_suspended', subject: '', details: {} } as const
    await db.write((tx) => appendNotification(tx, { ...notification, at: Date.now() }))
    await assertAlone(tails, () => suspendAll(db, tails))
    await withRaw(service.settings, (raw) => raw.exec('drop index refused'))
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
    const publicKey = new Uint8Array(Buffer.from(newKey().publicKey, 'base64'))
    const { db, addVerifiedOwner } = service.operator
    const owners = [await addVerifiedOwner(), await addVerifiedOwner(), await addVerifiedOwner()]
    const claimed = { public_key: publicKey, claimed_at: Date.now(), grade: 'C' } as const
    await db.write(async (tx) => {
      for (let i = 0; i < AGENTS_OF_KEY; i++) {
        const agent = { seq: 1_000_000 + i, tail: randomTail(randomBytes), agent_id: `label ${i}` }
        await insertAgent(tx, { ...claimed, ...agent, owner_id: owners[i % 3] as number })
      }
    })
    const { last } = await db.read
      .selectFrom('events')
      .select(({ fn }) => fn.max<number>('seq').as('last'))
      .executeTakeFirstOrThrow()
    let statements = 0
    const counter: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        statements += 1
        return result
      },
    }
    await db.write(async (tx) => {
      const [first] = await unrevokedAgentsOfKey(tx.db, publicKey)
      const revocation = { reason: 'key_compromised', setBy: 'owner' } as const
      const counted = { ...tx, db: tx.db.withPlugin(counter) }
      await revokeAgent(counted, first as AgentRow, revocation, Date.now())
    })
    assert.ok(statements <= AGENTS_OF_KEY * STATEMENTS_OF_BURNED_KEY, `${statements} statements`)
    const events = await db.read
      .selectFrom('events')
      .select(['tail', 'owner_id', 'type'])
      .where('seq', '>', last)
      .orderBy('seq')
      .execute()
    const ofAgents = [...Map.groupBy(events, ({ tail }) => tail).values()]
    assert.equal(ofAgents.length, AGENTS_OF_KEY)
    const revoking = ofAgents[0]?.[0]?.owner_id
    for (const own of ofAgents) {
      const change = own[0]?.owner_id === revoking ? 'agent.revoked' : 'agent.suspended'
      assert.deepEqual(
        own.map(({ type }) => type),
        [change, 'agent.grade_changed', 'agent.key_compromised'],
      )
    }
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
    ...(RULES[type].statusEntry === 'regrade' ? (['agent.grade_changed'] as const) : []),
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
