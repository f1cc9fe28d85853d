import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { JOB_HANDLERS } from '../../../../../test/support/job-handlers.ts'
import { testEnv } from '../../../../../test/support/service.ts'
import { readSettings } from '../../../src/base/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { scheduleJob } from '../../../src/database/jobs/job-table.ts'
import { runDueJobs } from '../../../src/database/jobs/run-jobs.ts'
import { WorkLoop } from '../../../src/database/jobs/work-loop.ts'
import * as database from '../../../src/database/open-database.ts'
import { EFFECTS } from '../../../src/service/effects.ts'

async function openDatabase(t: TestContext): Promise<Database> {
  const db = await database.openDatabase(readSettings(await testEnv(t)).database, Date.now, EFFECTS)
  t.after(() => db.close())
  return db
}

function jobs({ read }: Database) {
  return read.selectFrom('jobs').selectAll().orderBy('id').execute()
}

test('a failing job is retried with increasing delays and does not delay other jobs', async (t) => {
  const db = await openDatabase(t)
  const clock = { now: Date.now() }
  const failures: unknown[] = []
  const deps = {
    db,
    handlers: JOB_HANDLERS,
    now: () => clock.now,
    onFailure: (error: unknown) => failures.push(error),
  }
  const bad = { id: 'bad', kind: 'expire-verification', subject: 'no JSON', run_at: 1 }
  const good = JSON.stringify({ ownerId: 1, provider: 'mitid' })
  await db.write((tx) => scheduleJob(tx, bad))
  await db.write((tx) => scheduleJob(tx, { ...bad, id: 'good', subject: good, run_at: 2 }))

  await runDueJobs(deps)

  const pauses: number[] = []
  for (let i = 1; i <= 9; i++) {
    const left = await jobs(db)
    assert.deepEqual(
      left.map(({ id, attempts }) => [id, attempts]),
      [['bad', i]],
    )
    pauses.push((left[0]?.run_at ?? 0) - clock.now)
    clock.now = left[0]?.run_at ?? 0
    await runDueJobs(deps)
  }
  assert.equal(failures.length, 10)
  assert.deepEqual(pauses.slice(0, 3), [60_000, 120_000, 240_000])
  assert.equal(pauses.at(-1), 3_600_000)
  const events = await db.read.selectFrom('events').select('type').execute()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['owner.identity_expired'],
  )
})

test('rounds never overlap, and stop waits only for the current job', async (t) => {
  const db = await openDatabase(t)
  const subject = JSON.stringify({ ownerId: 1, provider: 'mitid' })
  await db.write(async (tx) => {
    for (let i = 0; i < 5; i++) {
      await scheduleJob(tx, { id: `${i}`, kind: 'expire-verification', subject, run_at: i })
    }
  })
  let writing = 0
  let maxWriting = 0
  let onBegin = () => {}
  const first = new Promise<void>((resolve) => (onBegin = resolve))
  const observed = new Proxy(db, {
    get: (target, name) => {
      if (name !== 'write') return Reflect.get(target, name, target)
      return async (work: Parameters<Database['write']>[0]) => {
        maxWriting = Math.max(maxWriting, ++writing)
        onBegin()
        await target.write(work)
        writing -= 1
      }
    },
  })
  const onFailure = (error: unknown) => assert.fail(String(error))
  const deps = { db: observed, handlers: JOB_HANDLERS, now: Date.now, onFailure }
  const runner = new WorkLoop({
    poll: (stopping) => runDueJobs(deps, () => !stopping.aborted),
    onError: onFailure,
  })
  for (let i = 0; i < 4; i++) void runner.run()
  await first
  void runner.run()
  await runner.stop()
  assert.deepEqual([maxWriting, writing], [1, 0])
  assert.equal((await jobs(db)).length, 4, 'only the current job was completed')
  void runner.run()
  await runner.stop()
  assert.equal((await jobs(db)).length, 4, 'no job starts after stop')
})
