import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { fileOf, openRaw } from '../../../../test/support/raw-database.ts'
import { testEnv } from '../../../../test/support/service.ts'
import { readSettings, type Settings } from '../../src/base/config.ts'
import { type Database, StorageFailure, type Tx } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'

test('concurrent writes are committed in one transaction, with sequence numbers in the order of the requests', async (t) => {
  const { db } = await open(t)
  let commits = 0
  db.onCommit(async () => {
    commits += 1
  })
  const seqs = await Promise.all(Array.from({ length: 50 }, () => db.write(append)))
  assert.deepEqual(
    seqs,
    Array.from({ length: 50 }, (_, i) => i + 1),
  )
  assert.equal(commits, 1)
})

test('a write that throws rolls back its own changes and none of the other writes in the transaction', async (t) => {
  const { db } = await open(t)
  const outcomes = await Promise.allSettled([
    db.write(append),
    db.write(async (tx) => {
      await append(tx)
      throw new Error('changed my mind')
    }),
    db.write(append),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const rows = await db.read.selectFrom('events').select('seq').orderBy('seq').execute()
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    [1, 2],
  )
})

test('close completes the writes requested before it and rejects later ones', async (t) => {
  const { db, settings } = await open(t)
  const before = db.write(append)
  const closed = db.close()
  await assert.rejects(db.write(append), StorageFailure)
  assert.equal(await before, 1)
  await closed
  await assert.rejects(db.write(append), StorageFailure)
  const raw = await openRaw(settings)
  t.after(() => raw.close())
  assert.equal((await raw.all('SELECT seq FROM events')).length, 1)
})

test('a write resolves only after its commit, and reads do not see it before', async (t) => {
  const { db } = await open(t)
  const seen: number[] = []
  const listened: number[] = []
  db.onCommit(async () => {
    listened.push((await db.read.selectFrom('events').select('seq').execute()).length)
  })
  const count = async () => (await db.read.selectFrom('events').select('seq').execute()).length
  await Promise.all([
    db.write(async (tx) => {
      await append(tx)
      seen.push(await count())
    }),
    db.write(append).then(async () => seen.push(await count())),
  ])
  assert.deepEqual(seen, [0, 2])
  assert.deepEqual(listened, [2])
})

test('if a transaction fails, all its writes reject, and later writes succeed', async (t) => {
  const { db, settings } = await open(t)
  const other = await openRaw(settings)
  t.after(() => other.close())
  // Reading the last sequence number fails: inside the transaction, but outside every write.
  await other.exec('ALTER TABLE events RENAME TO gone')
  const refused = await Promise.allSettled([db.write(append), db.write(append)])
  for (const outcome of refused) {
    assert.equal(outcome.status, 'rejected')
    assert.ok((outcome as PromiseRejectedResult).reason instanceof StorageFailure)
  }
  await other.exec('ALTER TABLE gone RENAME TO events')
  assert.equal(await db.write(append), 1)
})

test('a write waits for the transaction of another process', SQLITE_ONLY, async (t) => {
  const { db, settings } = await open(t)
  assert.equal(db.mayHaveExternalWrites(), false)
  const script = `
    const file = new (require('node:sqlite').DatabaseSync)(process.argv[1])
    file.exec("BEGIN IMMEDIATE; INSERT INTO owners (id, username, display_name, created_at) VALUES (7, 'x', 'x', 0)")
    console.log('locked')
    process.stdin.on('end', () => file.exec('COMMIT')).resume()`
  const other = spawn(process.execPath, ['-e', script, fileOf(settings)])
  await new Promise((resolve) => other.stdout.once('data', resolve))
  let isWritten = false
  const writing = db.write((tx) => tx.db.selectFrom('owners').select('id').execute())
  const written = writing.finally(() => {
    isWritten = true
  })
  // Many more turns of the event loop than a write takes.
  for (let turns = 0; turns < 100; turns++) await setImmediate()
  assert.equal(isWritten, false)
  other.stdin.end()
  const owners = await written
  assert.deepEqual(
    owners.map(({ id }) => id),
    [7],
  )
  assert.equal(db.mayHaveExternalWrites(), true)
  assert.equal(db.mayHaveExternalWrites(), false)
})

async function append(tx: Tx): Promise<number> {
  const seq = tx.nextSeq()
  const row = { seq, at: 0, type: 'agent.updated', tail: null, owner_id: null, payload: '{}' }
  await tx.db.insertInto('events').values(row).execute()
  return seq
}

async function open(t: {
  after(end: () => unknown): void
}): Promise<{ db: Database; settings: Settings }> {
  const settings = readSettings(await testEnv(t))
  const db = await openDatabase(settings.database, Date.now, EFFECTS)
  t.after(() => db.close())
  return { db, settings }
}
