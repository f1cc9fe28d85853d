import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { randomTail } from '@countersign/protocol'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import { type Operator, openOperator, testEnv } from '../../../../../test/support/service.ts'
import { revokeAll } from '../../../src/agents/manage/revoke-all.ts'
import { AgentReadModel } from '../../../src/agents/read-model/agent-read-model.ts'
import { readSettings } from '../../../src/base/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'
import { deleteAccount } from '../../../src/service/privacy/delete-account.ts'
import { Erasures } from '../../../src/service/privacy/erasures.ts'

/** Three batches, the last one partial. */
const AGENTS = 450

test('many agents are revoked in batches, so that others can write in between and nodes stay in sync', async (t) => {
  const { db, ownerId } = await manyAgents(t, 'ada')
  const readModel = new AgentReadModel(db, 1000, randomBytes)
  await readModel.start()
  await readModel.load()
  let transactions = 0
  db.onTransaction(() => (transactions += 1))

  assert.equal(await revokeAll({ db, now: Date.now }, ownerId, 'ada', null), AGENTS)
  assert.equal(transactions, 3)
  await readModel.follow()
  for (const { tail, status } of await agentsOf(db)) {
    assert.equal(status, 'revoked')
    assert.equal(readModel.inMemory(tail as never)?.agent.status, 'revoked')
  }
})

test('agents revoked before a batch failed stay revoked, and a retry continues from there', async (t) => {
  const { db, ownerId } = await manyAgents(t, 'ada')
  const failing = failingAfter(db, 2)
  await assert.rejects(revokeAll({ db: failing, now: Date.now }, ownerId, 'ada', null), /no more/)
  assert.equal((await agentsOf(db)).filter(({ status }) => status === 'revoked').length, 400)
  assert.equal(await revokeAll({ db, now: Date.now }, ownerId, 'ada', null), AGENTS - 400)
})

test('an account with many agents is deleted in batches, and nothing of it is left', async (t) => {
  const { db, ownerId, deps } = await manyAgents(t, 'ada')
  const failing = failingAfter(db, 2)
  await assert.rejects(deleteAccount({ ...deps, db: failing }, ownerId, 'ada'), /no more/)
  assert.equal(await deleteAccount(deps, ownerId, 'ada'), AGENTS - 400)
  for (const agent of await agentsOf(db)) {
    assert.equal(agent.status, 'revoked')
    assert.equal(agent.display_name, null)
    assert.equal(agent.agent_id, 'deleted')
  }
  const events = await db.read.selectFrom('events').select('type').execute()
  const count = (type: string) => events.filter((event) => event.type === type).length
  assert.equal(count('agent.revoked'), AGENTS)
  assert.equal(count('agent.updated'), AGENTS, 'each that had a name has an event that tells')
  assert.equal(count('owner.deleted'), 1)
})

async function manyAgents(t: TestContext, username: string) {
  const settings = readSettings(await testEnv(t))
  const operator: Operator = await openOperator(settings)
  t.after(() => operator.close())
  const ownerId = await operator.addVerifiedOwner(username)
  const { db } = operator
  await db.write(async (tx) => {
    for (let i = 0; i < AGENTS; i++) {
      const [seq, tail, key] = [tx.nextSeq(), randomTail(randomBytes), randomBytes(32)]
      const fixed = { seq, tail, public_key: key, agent_id: 'main', owner_id: ownerId }
      await insertAgent(tx, { ...fixed, claimed_at: Date.now(), grade: 'C' })
      const payload = { publicKey: key.toString('base64') }
      await appendAgentEvent(tx, {
        seq,
        at: Date.now(),
        type: 'agent.claimed',
        tail,
        ownerId,
        payload,
      })
    }
    await tx.db.updateTable('agents').set({ display_name: 'Ada’s' }).execute()
  })
  const erasures = new Erasures(settings.dataDir)
  return { db, ownerId, deps: { db, now: Date.now, pepper: operator.pepper, erasures } }
}

function agentsOf(db: Database) {
  return db.read.selectFrom('agents').selectAll().execute()
}

/** The same database, which fails after a number of writes. */
function failingAfter(db: Database, writes: number): Database {
  let left = writes
  const write: Database['write'] = (work) => {
    left -= 1
    return left < 0 ? Promise.reject(new Error('no more')) : db.write(work)
  }
  return new Proxy(db, {
    get: (of, name) => (name === 'write' ? write : Reflect.get(of, name, of)),
  })
}
