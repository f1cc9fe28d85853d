import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { asked, newApprovalWorld } from '../../../../../test/support/approvals.ts'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { mandated, orderOf } from '../../../../../test/support/mandates.ts'
import { databaseOf, POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { openRaw, type RawDatabase, withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { until } from '../../../../../test/support/until.ts'
import { appendFeedChange } from '../../../src/agents/changes/feed-change-table.ts'
import { insertRecovery } from '../../../src/agents/keys/key-table.ts'
import { TABLE_KEYS } from '../../../src/database/maintenance/import-sqlite.ts'
import { insertKey, keepTree } from '../../../src/log/cosigning/cosigned-log-table.ts'
import { insertWitnesses } from '../../../src/log/witnesses/witness-table.ts'
import { writeAssignment } from '../../../src/statements/grants/grant-table.ts'
import { insertOwnerRecords } from '../privacy/owner-records.ts'
import { insertOrganisation } from './organisation-rows.ts'

const TABLES = Object.keys(TABLE_KEYS)

/** A service with its data in a file, something in every table. */
async function inAFile(t: TestContext): Promise<{ service: TestService; dids: string[] }> {
  const DATA_DIR = tempDir(t)
  const DATABASE_URL = `sqlite:${join(DATA_DIR, 'countersign.db')}`
  const service = await startTestService(t, { DATA_DIR, DATABASE_URL })
  const { operator } = service
  const owner = await operator.addVerifiedOwner('ada')
  const dids: string[] = []
  for (let i = 0; i < 5; i++) dids.push(await claimAgent(service, owner))
  await setStatus(service, await claimAgent(service, owner), 'revoked', 'key_compromised')
  await setStatus(service, await claimAgent(service, owner), 'suspended', 'abuse', 'operator')
  await insertOwnerRecords(service, owner)
  await certificateOf(service, dids[0] as string)
  await signIn(service, owner)
  const world = await newApprovalWorld(service)
  await mandated(world)
  const { state } = await asked(world, orderOf('1.00'))
  assert.equal(state, 'approved')
  // At least the claims, the revocation and the suspension.
  await untilLogged(service, 9)
  const tail = dids[0]?.slice(-24) as string
  await insertOrganisation(service, tail)
  await operator.db.write(async (tx) => {
    await appendFeedChange(tx, { list: 0, idx: 1, status: 1 }, Date.now())
    // Byte for byte "B" comes before "a"; in most languages it comes after.
    for (const id of ['B', 'a', 'Ä', 'ä', '~', '😀']) {
      const place = { kind: 'domain', handle_or_domain: `${id}.example`, tier: 2 } as const
      await insertProvenChannel(tx, tail, { ...place, id })
      await tx.db
        .insertInto('channel_leases')
        .values({ channel_id: id, due_at: 1, leased_by: null, held_until: 0 })
        .execute()
      const check = { channel_id: id, at: 2 ** 45, outcome: 'proven', perspectives: '[]' } as const
      await tx.db.insertInto('channel_checks').values(check).execute()
      const job = { id, kind: 'none', subject: '{}', run_at: 2 ** 45, attempts: 0 }
      // One that has failed, and others that have not.
      const failed = id === 'B' ? { attempts: 1, due_since: 2 ** 44 } : {}
      await tx.db
        .insertInto('jobs')
        .values({ ...job, ...failed })
        .execute()
    }
    await tx.db
      .insertInto('released_usernames')
      .values({
        hash: Buffer.alloc(32, 7),
        exact_hash: Buffer.alloc(32, 6),
        owner_id: owner,
        available_at: 2 ** 45,
      })
      .execute()
    const token = { token_hash: Buffer.alloc(32, 8), token_expires_at: 2 ** 45 }
    await insertRecovery(tx, { tail, reason: 'key_lost', started_at: 2 ** 44, ...token })
    const entry = JSON.stringify({ type: 'grade' })
    await tx.db
      .insertInto('log_queue')
      .values({
        seq: 2 ** 40,
        // No agent's: what the log has of an agent is compared with its events.
        tail: 'queued',
        owner_id: owner,
        type: 'grade',
        entry,
        evidence: '{}',
        // Not due while the test runs.
        not_before: 2 ** 45,
      })
      .execute()
    await tx.db
      .insertInto('log_quotas')
      .values({ owner_id: owner, day: 1, entries: 1 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const tree = { origin: 'log.example', size: 2 ** 40, root: Buffer.alloc(32, 9) }
    await insertKey(tx, {
      number: 1,
      name: 'id.example/witness/1',
      public_key: Buffer.alloc(32, 8),
      created_at: 2 ** 44,
      halted_at: null,
    })
    await keepTree(tx, tree, 2 ** 44)
    await tx.db
      .insertInto('log_pending')
      .values({ epoch: 1, size: 0, root: tree.root, checkpoint: 'signed', signed_at: 2 ** 44 })
      .execute()
    await insertWitnesses(tx, 1, ['a verifier key'])
    const issuer = await tx.db.selectFrom('grant_issuers').select('id').executeTakeFirstOrThrow()
    await writeAssignment(tx, tail, issuer.id, 2 ** 44)
    await tx.db
      .insertInto('grant_uses')
      .values({
        tail,
        audience: 'https://as.example',
        first_at: 2 ** 43,
        last_at: 2 ** 44,
        grants: 3,
      })
      .execute()
    const { list, idx } = await tx.db
      .selectFrom('status_entries')
      .select(['list', 'idx'])
      .executeTakeFirstOrThrow()
    const times = { created_at: 2 ** 43, expires_at: 2 ** 45 }
    await tx.db
      .insertInto('delegations')
      .values({
        id: 'd',
        tail,
        list,
        idx,
        label: 'Worker',
        ...times,
        ended_at: null,
        ended_by: null,
      })
      .execute()
    const rule = { id: 'er_1', owner_id: owner, name: 'CI', keys: '{}', match: '{}' }
    const limits = { max_live: 1, unseen_after_seconds: 3600, max_token_seconds: 300 }
    const made = {
      agent_label: 'ci',
      binding: 'token',
      state: 'paused',
      created_at: 1,
      admitted_at: 1,
    }
    await tx.db
      .insertInto('enrolment_rules')
      .values({ ...rule, ...limits, ...made } as never)
      .execute()
    const seen = { created_at: 1, seen_at: 2, ends_at: 2 ** 45 }
    await tx.db
      .insertInto('enrolments')
      .values({ tail, rule_id: 'er_1', owner_id: owner, claims: '{}', ...seen } as never)
      .execute()
    const report = { id: 'rp_1', tail, owner_id: owner, host: 'shop.example', category: 'spam' }
    const state = { token_hash: Buffer.alloc(32, 3), state: 'open', received_at: 1 }
    await tx.db
      .insertInto('reports')
      .values({ ...report, ...state } as never)
      .execute()
    const signed = { signature_hash: Buffer.alloc(32, 2), method: 'GET', path: '/', created: 1 }
    await tx.db
      .insertInto('report_evidence')
      .values({ report_id: 'rp_1', position: 0, keyid: 'k', ...signed } as never)
      .execute()
    const used = { hash: Buffer.alloc(32, 5), thumbprint: 't', expires_at: 2 ** 45 }
    await tx.db.insertInto('enrolment_tokens').values(used).execute()
    await tx.db
      .insertInto('used_nonces')
      .values({ hash: 'h', keyid: 'k', expires_at: 2 ** 45 })
      .execute()
    await tx.db.deleteFrom('avatars').execute()
    await tx.db
      .insertInto('avatars')
      .values({ tail, webp: Buffer.alloc(3000, 0xa5) })
      .execute()
  })
  await service.stop()
  return { service, dids }
}

/** Settings for the same data directory, with the data in PostgreSQL. */
async function inPostgres({ env }: TestService): Promise<Record<string, string>> {
  return { ...env, DATABASE_URL: await databaseOf(env.DATA_DIR as string) }
}

async function emptied(raw: RawDatabase): Promise<boolean> {
  // The one setting of an empty database lists the migrations that made it.
  const rows = (table: string) =>
    table === 'settings' ? "settings WHERE name <> 'schema_expansions'" : table
  const found = await Promise.all(
    TABLES.map((name) => raw.all(`SELECT 1 AS one FROM ${rows(name)}`)),
  )
  return found.every(({ length }) => length === 0)
}

test(
  'an import from a file to PostgreSQL keeps every row, and every agent is found',
  POSTGRES_ONLY,
  async (t) => {
    const { service, dids } = await inAFile(t)
    const env = await inPostgres(service)
    const imported = await countersignd(env, 'import', '--json', '--from', fileOf(service))
    assert.equal(imported.code, 0, imported.stderr)
    const tables = JSON.parse(imported.stdout) as { table: string; rows: number; digest: string }[]
    assert.deepEqual(
      tables.map(({ table }) => table),
      TABLES,
    )
    for (const { table, rows } of tables)
      assert.ok(rows > 0, `${table} is empty: nothing is tested`)

    const raws = [
      await openRaw(service.settings),
      await openRaw({ database: { kind: 'postgres', url: env.DATABASE_URL as string } }),
    ] as const
    t.after(() => Promise.all(raws.map((raw) => raw.close())))
    for (const { table, rows } of tables) {
      const [before, after] = await Promise.all(
        raws.map((raw) => raw.all(`SELECT * FROM ${table}`)),
      )
      assert.equal(before?.length, rows)
      assert.deepEqual(after?.map(textOf).toSorted(), before?.map(textOf).toSorted(), table)
    }
    const moved = await startTestService(t, env)
    for (const did of dids) {
      assert.equal((await fetch(`${moved.url}/api/v1/agent/${did}`)).status, 200)
    }
    const ada = await moved.operator.db.read
      .selectFrom('owners')
      .select('id')
      .executeTakeFirstOrThrow()
    await claimAgent(moved, ada.id)
  },
)

test(
  'a second import is rejected, and so is one of a file in use, or of no database',
  POSTGRES_ONLY,
  async (t) => {
    const { service } = await inAFile(t)
    const env = await inPostgres(service)
    const importFrom = (file: string) => countersignd(env, 'import', '--from', file)
    const none = await importFrom(join(tempDir(t), 'none.db'))
    assert.equal(none.code, 2)
    assert.match(none.stderr, /There is no /)
    const again = await startTestService(t, service.env)
    const served = await importFrom(fileOf(service))
    assert.equal(served.code, 5)
    assert.match(served.stderr, /already uses this data/)
    await again.stop()
    const unreleased = join(tempDir(t), 'unreleased.db')
    copyFileSync(fileOf(service), unreleased)
    await withRaw({ database: { kind: 'sqlite', file: unreleased } }, (raw) =>
      raw.exec("UPDATE schema_migrations SET name = '0001-first'"),
    )
    const old = await importFrom(unreleased)
    assert.equal(old.code, 2)
    assert.match(old.stderr, /made by a build before the first release/)
    assert.equal((await importFrom(fileOf(service))).code, 0)
    const second = await importFrom(fileOf(service))
    assert.equal(second.code, 2)
    assert.match(second.stderr, /The target is not empty/)
    const toAFile = await countersignd(service.env, 'import', '--from', fileOf(service))
    assert.equal(toAFile.code, 2)
    assert.match(toAFile.stderr, /DATABASE_URL must name the PostgreSQL/)
  },
)

test(
  'an import that fails at any row leaves nothing behind, and can be repeated',
  POSTGRES_ONLY,
  async (t) => {
    const { service } = await inAFile(t)
    const env = await inPostgres(service)
    const raw = await openRaw(service.settings)
    t.after(() => raw.close())
    const target = await openRaw({
      database: { kind: 'postgres', url: env.DATABASE_URL as string },
    })
    t.after(() => target.close())
    // The last table of all, and what PostgreSQL cannot hold.
    await raw.exec("UPDATE avatars SET webp = 'no bytes'")
    const failed = await countersignd(env, 'import', '--from', fileOf(service))
    assert.equal(failed.code, 1, failed.stdout)
    assert.ok(await emptied(target))
    await raw.exec("UPDATE avatars SET webp = x'00'")
    const { code, stderr } = await countersignd(env, 'import', '--from', fileOf(service))
    assert.equal(code, 0, stderr)
  },
)

test('the file cannot be changed during an import', POSTGRES_ONLY, async (t) => {
  const { service, dids } = await inAFile(t)
  const env = await inPostgres(service)
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  t.after(() => client.end())
  // It waits there for this transaction, when it has copied agents and events.
  await client.query('begin; lock table channels in share mode')
  const importing = countersignd(env, 'import', '--from', fileOf(service))
  // Other databases of the server are copies as well, in which the table has the same number.
  const waiting = `select 1 from pg_locks join pg_database on database = pg_database.oid
    where datname = current_database() and not granted and relation = 'channels'::regclass`
  await until(async () => (await client.query(waiting)).rows.length > 0, 20_000)
  const [did] = dids as [string]
  const revoked = await countersignd(service.env, 'agent', 'revoke', did)
  await client.query('commit')
  const imported = await importing
  assert.equal(imported.code, 0, imported.stderr)
  assert.equal(revoked.code, 5, revoked.stdout)
  const agents = await client.query('select 1 from agents where status = $1', ['revoked'])
  const events = await client.query('select 1 from events where type = $1', ['agent.revoked'])
  assert.equal(agents.rows.length, events.rows.length)
})

test(
  'data with another identity-pepper is rejected: its owners could not be recognized',
  POSTGRES_ONLY,
  async (t) => {
    const { service } = await inAFile(t)
    const env = { ...(await inPostgres(service)), DATA_DIR: tempDir(t) }
    const { code, stderr } = await countersignd(env, 'import', '--from', fileOf(service))
    assert.equal(code, 2)
    assert.match(stderr, /another identity-pepper/)
  },
)

function fileOf({ settings }: TestService): string {
  assert.ok(settings.database.kind === 'sqlite')
  return settings.database.file
}

function textOf(row: Record<string, unknown>): string {
  // The driver that the test asks gives int8 as text.
  const values = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array
      ? Buffer.from(value).toString('hex')
      : value === null
        ? null
        : String(value),
  ])
  return JSON.stringify(values.toSorted())
}
