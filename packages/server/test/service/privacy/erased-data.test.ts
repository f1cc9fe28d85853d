import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Insertable } from 'kysely'
import { ask } from '../../../../../test/support/ask.ts'
import { leaveUncompared } from '../../../../../test/support/changes-complete.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { ON_POSTGRES } from '../../../../../test/support/postgres.ts'
import { fileOf, withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { insertOwner } from '../../../src/accounts/owner-table.ts'
import type { Tables } from '../../../src/database/database.ts'
import {
  JSON_MARK,
  MARK,
  MARKED,
  MARKED_OF_ORGANISATION,
  namesOf,
  OTHERS,
  OWNER_ID,
} from './marked-columns.ts'
import { markedOwner } from './marked-owner.ts'
import { assertWithoutMark, rowsOf } from './traces.ts'

async function textColumns(service: TestService): Promise<Map<string, string[]>> {
  return withRaw(service.settings, async (raw) => {
    const columns = new Map<string, string[]>()
    for (const table of await raw.tables()) {
      const found = await raw.all(
        ON_POSTGRES
          ? `select column_name as name from information_schema.columns where table_name = '${table}' and data_type = 'text'`
          : `select name from pragma_table_info('${table}') where type = 'TEXT'`,
      )
      columns.set(
        table,
        found.map(({ name }) => String(name)),
      )
    }
    return columns
  })
}

test('an erased account leaves no text and no number: in no table, in no file and in no new backup', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, {}, () => now)
  leaveUncompared(service)
  const columns = await textColumns(service)
  for (const [table, names] of columns) {
    const lists = [MARKED, MARKED_OF_ORGANISATION, OTHERS]
    const known = lists.flatMap((list) => namesOf(list[table]))
    const unknown = names.filter((name) => !known.includes(name))
    assert.deepEqual(unknown, [], `${table}: does an erasure erase it? Add it to the lists.`)
  }
  const { owner, did, retired } = await markedOwner(service, () => now)

  const erased = await owner.post('/api/account/deletion', { username: `${MARK}-owner` })
  assert.equal(erased.status, 200, erased.text)

  const left = await rowsOf(service)
  for (const { table, text } of left) assertWithoutMark(Buffer.from(text), table)
  const named = left.filter(({ text }) => text.includes(String(OWNER_ID)))
  assert.deepEqual(
    named.map(({ table, row }) => [table, (row as { type?: string }).type]),
    [['events', 'owner.deleted']],
    'nodes that follow the events need it for ten minutes',
  )
  const { db } = service.operator
  const isRemoved = async () => {
    const job = await db.read
      .selectFrom('jobs')
      .select('id')
      .where('id', '=', 'remove-deleted')
      .executeTakeFirst()
    return job === undefined
  }
  await untilTicked(service, isRemoved)
  if (!ON_POSTGRES) {
    const file = fileOf(service.settings)
    for (const each of [file, `${file}-wal`]) assertWithoutMark(readFileSync(each), each)
    const backup = join(tempDir(t), 'backup.db')
    const saved = await countersignd(service.env, 'backup', backup)
    assert.equal(saved.code, 0, saved.stderr)
    assertWithoutMark(readFileSync(backup), 'a backup')
  }

  const agents = await db.read.selectFrom('agents').select('owner_id').distinct().execute()
  assert.deepEqual(
    agents.map(({ owner_id }) => owner_id),
    [0],
  )
  for (const each of [did, retired]) {
    const card = (await (await fetch(`${service.url}/api/agents/${each}/card`)).json()) as {
      owner: null
    }
    assert.equal(card.owner, null)
    assert.equal((await ask(service, `/agent/${each}`)).text.includes(MARK), false)
  }
  now += 10 * 60_000 + 1
  await untilTicked(service, async () => {
    const rows = await rowsOf(service)
    return !rows.some(({ text }) => text.includes(String(OWNER_ID)))
  })
  const list = join(service.settings.dataDir, 'erasures')
  assert.ok(existsSync(list))
  assert.match(readFileSync(list, 'utf8'), new RegExp(`^${OWNER_ID} \\d{4}-\\S+Z\\n$`))
  const next = await service.operator.addVerifiedOwner('next')
  assert.ok(next > OWNER_ID, 'no number is used twice')
})

test('an erased organisation leaves nothing but what its members know, and takes managed accounts along', async (t) => {
  const service = await startTestService(t)
  leaveUncompared(service)
  const { db } = service.operator
  await service.operator.addVerifiedOwner('colleague')
  await withRaw(service.settings, (raw) =>
    raw.exec(`insert into settings (name, value) values ('next_owner_id', '${OWNER_ID - 1}')`),
  )
  const organisation = await createOrganisation(service, `${MARK}-org`)
  assert.equal(organisation.id, OWNER_ID)
  await organisation.verify()
  const { admin } = organisation
  const did = await claimAgent(service, organisation.id, newKey(), MARK)
  const now = Date.now()
  const ofOrganisation = { org_id: organisation.id, created_at: now }
  const later = now + 86_400_000
  const managed = await db.write(async (tx) => {
    const account = { username: 'member:1', display_name: MARK, username_skeleton: null }
    const { id } = await insertOwner(tx, { ...account, kind: 'member', created_at: now })
    const membership = { role: 'manager', role_since: now, source: 'sso', ended_at: null } as const
    await insertMembership(tx, {
      ...ofOrganisation,
      ...membership,
      id: 'mb_managed',
      person_id: id,
      end_reason: null,
    })
    const put = <T extends keyof Tables>(table: T, values: Insertable<Tables[T]>) =>
      tx.db
        .insertInto(table)
        .values(values as never)
        .execute()
    const invitation = { email: `${MARK}@mail.example`, username: null, role: 'viewer' } as const
    await put('invitations', {
      ...ofOrganisation,
      ...invitation,
      id: 'invitation',
      invited_by: admin.membership,
      expires_at: later,
    })
    await put('organisation_settings', { org_id: organisation.id, suspend_after_days: 3 })
    await put('organisation_domains', {
      org_id: organisation.id,
      domain: `${MARK}.example`,
      token: MARK,
      token_expires_at: later,
      proven_at: now,
      proven_token: MARK,
      proven_by: 'dns',
      due_at: null,
      leased_by: MARK,
      held_until: 0,
    })
    await put('sso_connections', {
      ...ofOrganisation,
      id: 'connection',
      issuer: `https://${MARK}.example`,
      client_id: MARK,
      sealed_secret: Buffer.from(MARK),
      group_claim: MARK,
      role_map: JSON_MARK,
      subject_claim: 'sub',
      updated_at: now,
    })
    await put('sign_in_identities', {
      owner_id: id,
      provider: 'sso:connection',
      subject_hash: Buffer.from(MARK),
      created_at: now,
    })
    await put('scim_tokens', {
      ...ofOrganisation,
      hash: Buffer.from(MARK),
      id: 'token',
      created_by: admin.membership,
      expires_at: later,
      last_used_at: null,
    })
    await put('scim_users', {
      ...ofOrganisation,
      id: 'su_1',
      external_id: MARK,
      user_name: MARK,
      user_name_folded: MARK,
      display_name: MARK,
      active: 1,
      person_id: id,
      updated_at: now,
    })
    return id
  })
  await untilLogged(service, 1)
  for (const [table, columns] of Object.entries(MARKED_OF_ORGANISATION)) {
    const rows = await withRaw(service.settings, (raw) => raw.all(`select * from ${table}`))
    for (const name of namesOf(columns)) {
      assert.ok(String(rows[0]?.[name]).includes(MARK), `${table}.${name} has the mark`)
    }
  }

  const wrong = await admin.post('/api/account/deletion', { username: 'colleague' })
  assert.equal(wrong.status, 400, wrong.text)
  const erased = await admin.post('/api/account/deletion', { username: `${MARK}-org` })
  assert.equal(erased.status, 200, erased.text)

  // Persons know of which organisation they were members.
  const own = new Set(['account_activity', 'notifications', 'owners', 'released_usernames'])
  for (const { table, text, row } of await rowsOf(service)) {
    const { owner_id, id } = row as { owner_id?: number; id?: number }
    if (own.has(table) && [owner_id, id].map(Number).includes(admin.ownerId)) continue
    assertWithoutMark(Buffer.from(text), table)
    const isDeletion = (row as { type?: string }).type === 'owner.deleted'
    const isNamed = [OWNER_ID, managed].some((number) => text.split('\n').includes(String(number)))
    assert.equal(isNamed && table !== 'jobs' && !isDeletion, false, `${table}: ${text}`)
  }
  assert.equal((await admin.self.get('/api/account')).status, 200, 'the admin is still signed in')
  assert.equal((await admin.get('/api/account')).status, 404)
  const { text } = await admin.self.get('/api/account/notifications')
  assert.ok(text.includes('You are no longer a member of an organisation'), text)
  assert.equal((await ask(service, `/agent/${did}`)).text.includes(MARK), false)
  const list = readFileSync(join(service.settings.dataDir, 'erasures'), 'utf8')
  assert.deepEqual(list.match(/^\d+/gm), [managed, OWNER_ID].map(String))
  const next = await service.operator.addVerifiedOwner('next')
  assert.ok(next > Math.max(managed, OWNER_ID), 'no number is used twice')
})
