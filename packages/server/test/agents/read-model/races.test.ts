import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { openRaw } from '../../../../../test/support/raw-database.ts'
import { openOperator, testEnv } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'
import { AgentReadModel } from '../../../src/agents/read-model/agent-read-model.ts'
import { readSettings } from '../../../src/base/config.ts'
import { appendEvent } from '../../../src/database/event-table.ts'
import { addAgent, Gate, withResultHook } from './support.ts'

const LIMIT = 100

// SQLite reads are synchronous, so nothing can happen during one.
test(
  'an agent that is revoked while its owner is read is returned as revoked',
  POSTGRES_ONLY,
  async (t) => {
    const owner = new Gate(t)
    const { db, ownerId } = await openData(t)
    const tail = await addAgent({ db }, ownerId)
    const pointReads = withResultHook(db.pointReads, (row) =>
      'display_name' in row && !('tail' in row) ? owner.pass() : undefined,
    )
    const readModel = new AgentReadModel(
      { read: db.read, pointReads: pointReads, eventReader: db.eventReader },
      LIMIT,
      randomBytes,
    )
    await readModel.start()

    const finding = readModel.find({ kind: 'tail', tail })
    await owner.reached
    await changeStatus({ db, now: Date.now }, { tail, to: 'revoked', reason: null, by: 'owner' })
    await readModel.follow()
    owner.open()

    assert.equal((await finding)?.agent.status, 'revoked')
  },
)

test(
  'a page of owners read before a verification expired does not restore it',
  POSTGRES_ONLY,
  async (t) => {
    const owners = new Gate(t)
    const agents = new Gate(t)
    const { db, ownerId } = await openData(t)
    const tail = await addAgent({ db }, ownerId)
    const read = withResultHook(db.read, (row) =>
      'provider' in row ? owners.pass() : 'tails' in row ? agents.pass() : undefined,
    )
    const readModel = new AgentReadModel(
      { read, pointReads: db.pointReads, eventReader: db.eventReader },
      LIMIT,
      randomBytes,
    )
    await readModel.start()
    const verified = async () =>
      (await readModel.find({ kind: 'tail', tail }))?.owner.verifications.length

    const loading = readModel.load()
    await owners.reached
    await db.write(async (tx) => {
      await tx.db.deleteFrom('identity_verifications').execute()
      const event = { type: 'owner.identity_expired', tail: null, ownerId, payload: {} } as const
      await appendEvent(tx, { ...event, seq: tx.nextSeq(), at: Date.now() })
    })
    await readModel.follow()
    assert.equal(await verified(), 0)
    owners.open()
    await agents.reached

    assert.equal(await verified(), 0, 'while the rest is loaded')
    agents.open()
    await loading
    assert.equal(await verified(), 0)
  },
)

test('after lost events everything is loaded again, also if the first attempt fails', async (t) => {
  const { db, ownerId, settings } = await openData(t)
  await addAgent({ db }, ownerId)
  const raw = await openRaw(settings)
  t.after(() => raw.close())
  let failed = 0
  let isFailing = false
  const read = withResultHook(db.read, () => {
    if (!isFailing) return undefined
    failed += 1
    throw new Error('a read fails')
  })
  const readModel = new AgentReadModel(
    { read, pointReads: db.pointReads, eventReader: db.eventReader },
    LIMIT,
    randomBytes,
  )
  await readModel.start()
  await readModel.load()
  assert.ok(readModel.isComplete)

  isFailing = true
  await raw.exec('UPDATE events SET at = at + 1')
  await until(async () => {
    await readModel.catchUp()
    return failed > 0
  }, 20_000)
  assert.ok(!readModel.isComplete)
  isFailing = false
  await until(async () => {
    await readModel.catchUp()
    return readModel.isComplete
  }, 20_000)
  assert.equal(readModel.agentsInMemory, 1)
})

async function openData(t: TestContext) {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  return { settings, db: operator.db, ownerId: await operator.addVerifiedOwner() }
}
