import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRaw } from '../../../../test/support/raw-database.ts'
import { countersignd, startTestService, testEnv } from '../../../../test/support/service.ts'
import { readSettings } from '../../src/base/config.ts'
import { BEGIN } from '../../src/database/postgres/writer.ts'

/** Only in this database: tests that run at the same time hold locks in other databases of the server. */
const LOCKS_OF_THIS_DATABASE = `select 1 as held from pg_locks join pg_database on database = pg_database.oid
  where locktype = 'advisory' and datname = current_database()`

test('if no migration is pending, read commands do not wait for a writer', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  await service.stop()
  const env = { ...service.env, PORT: '0' }
  const raw = await openRaw(service.settings)
  t.after(() => raw.close())
  const isFile = service.settings.database.kind === 'sqlite'
  await raw.exec(isFile ? 'BEGIN IMMEDIATE' : BEGIN)
  const listed = await countersignd(env, 'owner', 'list')
  const migrated = await countersignd(env, 'migrate')
  const held = await raw.all(isFile ? 'SELECT 1 AS held' : LOCKS_OF_THIS_DATABASE)
  await raw.exec('ROLLBACK')
  assert.equal(
    held.length,
    1,
    'the lock was lost before the commands ended, so the test shows nothing',
  )
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(listed.stdout, /ada/)
  assert.equal(migrated.code, 0, migrated.stderr)
  assert.match(migrated.stdout, /Nothing to do/)
})

test('the first `migrate` of an empty database reports the migrations applied, the second none', async (t) => {
  const env = await testEnv(t)
  const raw = await openRaw(readSettings(env))
  t.after(() => raw.close())
  if (readSettings(env).database.kind === 'postgres')
    await raw.exec('drop schema public cascade; create schema public')
  const first = await countersignd(env, 'migrate', '--json')
  assert.equal(first.code, 0, first.stderr)
  assert.ok((JSON.parse(first.stdout) as { applied: string[] }).applied.includes('0005-facts'))
  const second = await countersignd(env, 'migrate', '--json')
  assert.deepEqual(JSON.parse(second.stdout), { applied: [] })
})
