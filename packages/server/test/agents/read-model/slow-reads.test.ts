import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Tail } from '@countersign/protocol'
import type { UnknownRow } from 'kysely'
import { POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { replaceKey } from '../../../../../test/support/replace-key.ts'
import { type Operator, openOperator, testEnv } from '../../../../../test/support/service.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'
import { AgentReadModel } from '../../../src/agents/read-model/agent-read-model.ts'
import { readSettings } from '../../../src/base/config.ts'
import { appendEvent } from '../../../src/database/event-table.ts'
import { addAgent, Gate, withResultHook } from './support.ts'

/** So small that almost every read evicts something else. */
const LIMIT = 2

// SQLite reads are synchronous, so nothing can happen during one.
test(
  'a slow read of an agent does not undo its revocation, even if the agent was evicted meanwhile',
  POSTGRES_ONLY,
  async (t) => {
    const { operator, readModel, delayed } = await open(t, (row) => 'public_key' in row)
    const { db } = operator
    const ownerId = await operator.addVerifiedOwner()
    const tail = await addAgent(operator, ownerId)
    const others = [await addAgent(operator, ownerId), await addAgent(operator, ownerId)]
    await readModel.start()
    const status = async (of: Tail) =>
      (await readModel.find({ kind: 'tail', tail: of }))?.agent.status

    const finding = status(tail)
    await delayed.reached
    await changeStatus({ db, now: Date.now }, { tail, to: 'revoked', reason: null, by: 'owner' })
    await readModel.follow()
    for (const other of others) assert.equal(await status(other), 'active')
    assert.equal(readModel.inMemory(tail), null, 'the agent was evicted')
    delayed.open()

    assert.equal(await finding, 'revoked')
    assert.equal(await status(tail), 'revoked')
  },
)

test(
  'a slow read of an owner does not restore a verification, even if the owner was evicted meanwhile',
  POSTGRES_ONLY,
  async (t) => {
    const { operator, readModel, delayed } = await open(t, isVerification)
    const owners = []
    for (const name of ['ada', 'bob', 'eve']) owners.push(await operator.addVerifiedOwner(name))
    // The first and the last owner share a slot of the cache.
    const [ownerId, , otherId] = owners as [number, number, number]
    assert.equal(ownerId % LIMIT, otherId % LIMIT)
    const [tail, other] = [await addAgent(operator, ownerId), await addAgent(operator, otherId)]
    await readModel.start()
    const verifications = async (of: Tail) =>
      (await readModel.find({ kind: 'tail', tail: of }))?.owner.verifications.length

    const finding = verifications(tail)
    await delayed.reached
    await endVerifications(operator, ownerId)
    await readModel.follow()
    assert.equal(await verifications(other), 1)
    assert.equal(readModel.inMemory(tail), null, 'its owner was evicted')
    delayed.open()

    assert.equal(await finding, 0)
    assert.equal(await verifications(tail), 0)
  },
)

test(
  'a slow read of an owner does not restore a verification if it ends while the same batch of events is applied',
  POSTGRES_ONLY,
  async (t) => {
    const { operator, readModel, delayed, eventReader } = await open(t, isVerification)
    const owners = []
    for (const name of ['ada', 'bob', 'eve']) owners.push(await operator.addVerifiedOwner(name))
    const [ownerId, , otherId] = owners as [number, number, number]
    const tail = await addAgent(operator, ownerId)
    await readModel.start()
    const verifications = async () =>
      (await readModel.find({ kind: 'tail', tail }))?.owner.verifications.length

    const finding = verifications()
    await delayed.reached
    // One batch of events: the second owner evicts the first, and the third is being read.
    await endVerifications(operator, ownerId, otherId, owners[1] as number)
    const following = readModel.follow()
    await eventReader.reached
    delayed.open()
    assert.equal(await finding, 0)
    eventReader.open()
    await following

    assert.equal(await verifications(), 0)
  },
)

for (const isEvicted of [true, false]) {
  const what = isEvicted ? 'applied and evicted' : 'applied'
  test(
    `a slow read by a key finds no agent if the key was replaced meanwhile, ${what}`,
    POSTGRES_ONLY,
    async (t) => {
      const { operator, readModel, delayed } = await open(t, (row) => 'public_key' in row)
      const ownerId = await operator.addVerifiedOwner()
      const tail = await addAgent(operator, ownerId)
      const others = [await addAgent(operator, ownerId), await addAgent(operator, ownerId)]
      await readModel.start()
      const old = await keyOf(operator, tail)
      const finding = readModel.find({ kind: 'key', publicKey: old })
      await delayed.reached
      const current = new Uint8Array(randomBytes(32))
      await replaceKey(operator.db, tail, current)
      await readModel.follow()
      for (const other of isEvicted ? others : []) {
        await readModel.find({ kind: 'tail', tail: other })
      }
      assert.equal((await readModel.find({ kind: 'key', publicKey: old }))?.agent.tail, undefined)
      delayed.open()

      assert.equal(await finding, null)
      const found = await readModel.find({ kind: 'tail', tail })
      assert.deepEqual(new Uint8Array(found?.agent.publicKey ?? []), current)
      assert.equal((await readModel.find({ kind: 'key', publicKey: current }))?.agent.tail, tail)
    },
  )
}

async function keyOf({ db }: Operator, tail: Tail): Promise<Uint8Array> {
  return (await agentByTail(db.read, tail))?.public_key as Uint8Array
}

/** Verifications are the last rows read of an owner. */
const isVerification = (row: UnknownRow) => 'assurance' in row
const isOwner = (row: UnknownRow) => 'display_name' in row && !('tail' in row)

/**
 * A read model with a tiny limit and gates that delay two of its reads.
 * @param isDelayed selects the first row of the point read to delay. Reading the third owner of an event batch is delayed too.
 */
async function open(t: TestContext, isDelayed: (row: UnknownRow) => boolean) {
  // Created before the database, so that at the end they open before the database closes.
  const delayed = new Gate(t)
  const eventReader = new Gate(t)
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  const { db } = operator
  let followed = 0
  const slow = {
    read: db.read,
    pointReads: withResultHook(db.pointReads, (row) =>
      isDelayed(row) ? delayed.pass() : undefined,
    ),
    eventReader: withResultHook(db.eventReader, (row) => {
      if (isOwner(row)) followed += 1
      return followed === 3 ? eventReader.pass() : undefined
    }),
  }
  return { operator, delayed, eventReader, readModel: new AgentReadModel(slow, LIMIT, randomBytes) }
}

function endVerifications({ db }: Operator, ...owners: readonly number[]): Promise<void> {
  return db.write(async (tx) => {
    await tx.db.deleteFrom('identity_verifications').where('owner_id', 'in', owners).execute()
    for (const ownerId of owners) {
      const event = { type: 'owner.identity_expired', tail: null, ownerId, payload: {} } as const
      await appendEvent(tx, { ...event, seq: tx.nextSeq(), at: Date.now() })
    }
  })
}
