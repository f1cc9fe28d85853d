import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { openRaw, textOfTables, withRaw } from '../../../../test/support/raw-database.ts'
import { run } from '../../../../test/support/run.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../test/support/service.ts'
import { readSettings, type Settings } from '../../src/base/config.ts'
import { NewerSchemaError } from '../../src/database/migrate.ts'
import { migrateDatabase } from '../../src/database/open-database.ts'
import { BEGIN } from '../../src/database/postgres/writer.ts'
import { MIGRATIONS } from '../../src/database/schema/migrations/index.ts'
import { RELEASED } from '../../src/database/schema/migrations/released.ts'
import {
  CONTRACTING,
  digestOf,
  EXPANDING,
  editedMigrations,
  FAILING,
  migrateAsNext,
} from './support/next-migrations.ts'

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
  assert.deepEqual(JSON.parse(first.stdout), { applied: MIGRATIONS.map(({ name }) => name) })
  const second = await countersignd(env, 'migrate', '--json')
  assert.deepEqual(JSON.parse(second.stdout), { applied: [] })
})

/** A service that has an agent, and has stopped. */
async function leaveAgent(t: TestContext) {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await service.stop()
  return { ...service, did }
}

/** The applied migrations as recorded, and every table with its columns. */
function schemaOf(settings: Settings) {
  const columns =
    settings.database.kind === 'sqlite'
      ? "select m.name as tab, c.name as col from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'"
      : "select table_name as tab, column_name as col from information_schema.columns where table_schema = 'public'"
  return withRaw(settings, async (raw) => ({
    columns: await raw.all(`${columns} order by tab, col`),
    recorded: await raw.all('select * from schema_migrations order by name'),
  }))
}

test('nodes of the next release that start at once expand the schema once, and this one still starts', async (t) => {
  const { env, settings, did } = await leaveAgent(t)
  const script = join(import.meta.dirname, 'support/migrate-as-next.ts')
  const nodes = await Promise.all([1, 2, 3, 4].map(() => run(process.execPath, [script], env)))
  assert.deepEqual(
    nodes.map(({ code, stderr }) => [code, stderr]),
    nodes.map(() => [0, '']),
  )
  const applied = nodes.flatMap(({ stdout }) => JSON.parse(stdout) as string[])
  assert.deepEqual(applied, [EXPANDING.name])
  const expanded = await schemaOf(settings)
  assert.ok(expanded.columns.some(({ tab, col }) => tab === 'agents' && col === 'later'))

  const before = await startTestService(t, env)

  assert.equal((await ask(before, `/api/v1/agent/${did}`)).status, 200)
  await claimAgent(before, await before.operator.addVerifiedOwner())
  await before.stop()
  assert.deepEqual((await schemaOf(settings)).columns, expanded.columns)
  assert.deepEqual(await migrateAsNext(env, EXPANDING), [], 'it need not be applied again')
})

test('after a migration that does not expand the schema, the release before refuses to start', async (t) => {
  const { env, settings } = await leaveAgent(t)
  assert.deepEqual(await migrateAsNext(env, CONTRACTING), [CONTRACTING.name])
  const contracted = await schemaOf(settings)

  const served = await countersignd(env, 'serve')

  assert.equal(served.code, 5)
  assert.match(served.stderr, /has migrations that this release does not know: 9999-drop-avatars/)
  await assert.rejects(migrateDatabase(settings.database, Date.now), NewerSchemaError)
  assert.deepEqual(await schemaOf(settings), contracted)
})

test('nothing is left of a migration that fails', async (t) => {
  const { env, settings, did } = await leaveAgent(t)
  const before = [await schemaOf(settings), await textOfTables(settings)]

  await assert.rejects(migrateAsNext(env, FAILING), /half/)

  assert.deepEqual([await schemaOf(settings), await textOfTables(settings)], before)
  const again = await startTestService(t, env)
  assert.equal((await ask(again, `/api/v1/agent/${did}`)).status, 200)
})

/** Turns a database into one of builds before the first release: they had other migrations, and some tables had other names. */
const TO_UNRELEASED = `
  DELETE FROM schema_migrations;
  INSERT INTO schema_migrations VALUES ('0001-first', 0), ('0002-owners', 0);
  ALTER TABLE settings RENAME TO facts;
`

for (const [name, statements] of [
  ['whose schema had 25 migrations', TO_UNRELEASED],
  ['with other tables', "UPDATE schema_migrations SET name = '0001-schema-00000000'"],
] as const)
  test(`the database of a build before the first release, ${name}, is refused, and nothing is written`, async (t) => {
    const { env, settings } = await leaveAgent(t)
    await withRaw(settings, (raw) => raw.exec(statements))
    const before = [await schemaOf(settings), await textOfTables(settings)]
    const refusal = ON_POSTGRES
      ? /made by a build before the first release; start with an empty database\./
      : /made by a build before the first release; start with an empty DATA_DIR\./

    for (const args of [['serve'], ['migrate'], ['owner', 'list']]) {
      const { code, stderr } = await countersignd(env, ...args)
      assert.equal(code, 5, `${args}: ${stderr}`)
      assert.match(stderr, refusal)
    }
    const examined = await countersignd(env, 'doctor', '--json')
    assert.equal(examined.code, 1)
    assert.match(examined.stdout, refusal)
    assert.deepEqual([await schemaOf(settings), await textOfTables(settings)], before)
  })

const DIRECTORY = join(import.meta.dirname, '../../src/database/schema/migrations')

test('no released migration was edited', () => {
  assert.deepEqual(editedMigrations(RELEASED, DIRECTORY), [])
  const names = MIGRATIONS.map(({ name }) => name)
  const released = Object.keys(RELEASED)
  assert.deepEqual(names.slice(0, released.length), released, 'they come first, in their order')
})

test('an edited file of a released migration is found, and a missing one', (t) => {
  const directory = tempDir(t)
  writeFileSync(join(directory, '0001-schema.ts'), 'create table agents')
  writeFileSync(join(directory, '0001-agents.ts'), 'a part of it')
  const released = { '0001-schema': digestOf('0001-schema', directory) }
  writeFileSync(join(directory, '0002-add-later.ts'), 'not released yet')
  assert.deepEqual(editedMigrations(released, directory), [])
  writeFileSync(join(directory, '0001-agents.ts'), 'another part of it')
  assert.deepEqual(editedMigrations(released, directory), ['0001-schema'])
  const missing = { '0003-drop-avatars': digestOf('0001-schema', directory) }
  assert.deepEqual(editedMigrations(missing, directory), ['0003-drop-avatars'])
})
