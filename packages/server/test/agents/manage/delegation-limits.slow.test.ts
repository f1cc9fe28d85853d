import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import type { Reference } from '../../../../../test/support/status-feed.ts'
import type { AgentView } from '../../../src/agents/agent-record.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import { currentEntry } from '../../../src/agents/changes/status-entry-table.ts'
import { loadOwner, loadRecord } from '../../../src/agents/read-model/rows.ts'
import type { AgentRow } from '../../../src/database/database.ts'
import { entryFor } from '../../../src/statements/status-lists/status-entries.ts'
import { Delegations, ok } from './with-delegation.ts'

suite('delegation, often and at the same time', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  let agents: Delegations
  before(async () => {
    service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
    agents = new Delegations(service, clock)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  test('is ended 60 times an hour by the agent and by the owner, and raised 60 times; lowering it is never refused', async () => {
    const agent = await agents.claimed(1)
    for (let i = 0; i < 60; i++) ok(await agents.endBy(agent))
    const refused = await unchanged(service, () => agents.endBy(agent))
    assertRefused(refused, 429, 'RATE_LIMITED')
    const seconds = Number(refused.headers.get('retry-after'))
    assert.ok(seconds > 3000 && seconds <= 3600, String(seconds))
    for (let i = 0; i < 60; i++) ok(await agents.end(agent))
    assertRefused(await agents.end(agent), 429, 'RATE_LIMITED')
    for (let i = 0; i < 59; i++) {
      ok(await agents.put(agent, 0))
      ok(await agents.put(agent, 1))
    }
    ok(await agents.put(agent, 0))
    assertRefused(await unchanged(service, () => agents.put(agent, 1)), 429, 'RATE_LIMITED')
    ok(await agents.put(agent, 0))
    clock.advance(1.1)
    ok(
      await agents.put(
        { ...agent, owner: await signInBy(service, agent.owner.ownerId, clock.now) },
        1,
      ),
    )
    ok(await agents.endBy(agent))
  })

  /** What a node that is behind knows of an agent. */
  async function viewNow(did: string): Promise<AgentView> {
    const { read } = service.operator.db
    const row = (await agentByTail(read, did.slice(-24))) as AgentRow
    return { agent: await loadRecord(read, row), owner: await loadOwner(read, row.owner_id) }
  }

  test('of a node that is behind gets no entry with the former depth', async () => {
    const agent = await agents.claimed(3)
    const { did } = agent
    await agents.certificate(did)
    const behind = await viewNow(did)
    const { db } = service.operator
    const entryOf = () => entryFor({ db, now: clock.now }, behind)
    const before = await entryOf()
    await agents.allow(agent, 1)
    await assert.rejects(entryOf, { code: 'UNAVAILABLE', retryAfterSeconds: 1 })
    const entry = await currentEntry(db.read, did.slice(-24))
    assert.equal(entry?.delegation_depth, 1)
    assert.notEqual(entry?.idx, before.idx)
  })

  test('that is lowered while certificates are issued leaves the former depth under no valid entry', async () => {
    const { db } = service.operator
    for (let round = 0; round < 10; round++) {
      const agent = await agents.claimed(3)
      const { did } = agent
      if (round % 2 === 0) await agents.certificate(did)
      const behind = await viewNow(did)
      const deps = { db, now: clock.now }
      const handedOut: Reference[] = []
      const issue = async () => {
        const entry = await entryFor(deps, behind).catch(() => null)
        if (entry !== null) handedOut.push(entry)
      }
      const works = [issue, issue, () => agents.allow(agent, 1), issue, issue]
      await Promise.all(works.map((work) => work()))
      const entries = await db.read
        .selectFrom('status_entries')
        .selectAll()
        .where('tail', '=', did.slice(-24))
        .execute()
      for (const each of handedOut) {
        const row = entries.find(({ list, idx }) => list === each.list && idx === each.idx)
        assert.equal(row?.value, 1, 'it stated a depth of 3')
      }
      for (const row of entries) assert.ok(row.value === 1 || row.delegation_depth <= 1)
      assert.ok(entries.filter((row) => row.is_current === 1).length <= 1)
    }
  })
})
