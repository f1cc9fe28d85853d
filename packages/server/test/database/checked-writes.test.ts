import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cleanup, testEnv } from '../../../../test/support/service.ts'
import { readSettings } from '../../src/base/config.ts'
import { CheckedWrites } from '../../src/database/checked-writes.ts'
import type { Database, Tx } from '../../src/database/database.ts'
import { appendEvent } from '../../src/database/event-table.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'

test('a write of a request is checked in its transaction, and one that fails its check changes nothing', async (t) => {
  const { writes, db } = await open(t)
  await handling(writes, async () => {
    await db.write(append)
    writes.require(append)
    await db.write(append)
    writes.require(refuse)
    await assert.rejects(db.write(append), /refused/)
  })
  assert.equal(await countEvents(db), 3)
})

test('the writes of other requests, and of those who hear of a commit, are not checked', async (t) => {
  const { writes, db } = await open(t)
  let heard = 0
  db.onCommit(async () => {
    if (heard++ === 0) db.write(append).catch(assert.fail)
  })
  const checked = handling(writes, async () => {
    writes.require(append)
    await db.write(append)
  })
  await Promise.all([checked, handling(writes, () => db.write(append)), db.write(append)])
  await db.write(append)
  assert.equal(await countEvents(db), 6)
})

test('a batch of several requests cannot be checked for one of them', async (t) => {
  const { writes, db } = await open(t)
  const batch = async (_tx: Tx, items: readonly number[]) => items.map((value) => ({ value }))
  await handling(writes, async () => {
    assert.equal(await db.writeBatched(batch, 1), 1)
    writes.require(append)
    assert.throws(() => db.writeBatched(batch, 1), /a batch cannot be checked/)
  })
})

test('a check outside of the handling of a request is an error', async (t) => {
  const { writes } = await open(t)
  assert.throws(() => writes.require(append), /outside of the handling/)
})

async function open(t: Cleanup): Promise<{ writes: CheckedWrites; db: Database }> {
  const settings = readSettings(await testEnv(t))
  const opened = await openDatabase(settings.database, Date.now, EFFECTS)
  t.after(() => opened.close())
  const writes = new CheckedWrites()
  return { writes, db: writes.guard(opened) }
}

/** Handles a request. */
function handling(writes: CheckedWrites, handle: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => writes.run(() => handle().then(resolve, reject)))
}

function append(tx: Tx): Promise<void> {
  const event = { at: 1, type: 'status.changed', tail: null, ownerId: null, payload: {} } as const
  return appendEvent(tx, { ...event, seq: tx.nextSeq() })
}

async function refuse(tx: Tx): Promise<void> {
  await append(tx)
  throw new Error('refused')
}

async function countEvents({ read }: Database): Promise<number> {
  return (await read.selectFrom('events').select('seq').execute()).length
}
