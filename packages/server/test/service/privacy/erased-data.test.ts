import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Insertable } from 'kysely'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
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
import { signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { insertOwner } from '../../../src/accounts/owner-table.ts'
import type { Tables } from '../../../src/database/database.ts'
import { AGENTS, editAgent } from '../../agents/manage/with-agent.ts'
import { insertOwnerRecords } from './owner-records.ts'

const MARK = 'qzmarkqz'
const JSON_MARK = JSON.stringify({ m: MARK })
/** A number that nothing else in the database has. */
const OWNER_ID = 734_512

/** The text columns of an owner's rows that the test fills with the mark. A name in brackets has JSON. */
const MARKED: Readonly<Record<string, string>> = {
  account_activity: '[details]',
  agents: 'agent_id username display_name description username_skeleton avatar [directory_proof]',
  api_keys: 'name last_four',
  approvals:
    'service method url origin request_digest body body_digest message message_digest salt',
  channel_checks: '[perspectives]',
  channel_leases: 'leased_by',
  channels: 'handle_or_domain proof_token proven_token',
  delegations: 'label',
  email_addresses: 'address',
  email_outbox: 'address',
  enrolment_rules:
    'name issuer trust_domain [keys] [match] agent_label display_name description keys_problem',
  enrolments: '[claims]',
  events: '[payload]',
  flows: 'provider reference [state]',
  grant_issuers: 'name',
  grant_uses: 'audience',
  identity_verifications: 'country published_name pepper_id',
  log_entries: '[evidence]',
  log_queue: '[evidence]',
  mandates: '[statement]',
  notifications: 'subject [details]',
  owners: 'username display_name username_skeleton user_handle suspension_reason',
  passkeys: 'name transports',
  report_evidence: 'method path [request]',
  reports: 'host text contact answer',
  sessions: 'browser',
  sign_in_identities: 'provider',
  status_entries: 'identity_method',
  webhook_deliveries: 'problem',
  webhook_endpoints: 'url secret_salt previous_salt audience sealed_authorization',
}

/** The same for the tables that only organisations have. */
const MARKED_OF_ORGANISATION: Readonly<Record<string, string>> = {
  invitations: 'email',
  organisation_domains: 'domain token proven_token leased_by',
  scim_users: 'external_id user_name user_name_folded display_name',
  sso_connections: 'issuer client_id group_claim [role_map]',
}

/** Text columns without text of an owner: identifiers, words of ours, what everybody may keep, and what is not of an owner. */
const OTHERS: Readonly<Record<string, string>> = {
  account_activity: 'type',
  agent_keys: 'tail state changed_by',
  agents: 'tail status status_reason status_set_by status_time grade key_changed_by responsible',
  api_keys: 'id scopes created_by',
  approvals: 'id tail content_type state decided_by mandate_id',
  avatars: 'tail',
  channel_checks: 'channel_id outcome',
  channel_leases: 'channel_id',
  channels: 'id tail kind proven_by',
  claim_tokens: 'issued_by',
  commit_marks: 'node',
  delegations: 'id tail ended_by',
  email_addresses: 'id',
  email_outbox: 'id notification_id address_id leased_by',
  email_preferences: 'kind',
  enrolment_rules: 'id binding agent_label_claim state created_by responsible refused_check',
  enrolment_tokens: 'thumbprint',
  enrolments: 'tail rule_id',
  events: 'type tail',
  feed_changes: 'epoch',
  flows: 'kind',
  grant_assignments: 'tail issuer_id',
  grant_issuers: 'id created_by',
  grant_uses: 'tail',
  identity_verifications: 'provider assurance',
  invitations: 'id username role invited_by',
  issuer_key_reports: 'key_id node',
  issuer_keys: 'id jwks state',
  jobs: 'id kind subject',
  key_recoveries: 'tail reason started_by',
  log_entries: 'tail entry',
  log_epochs: 'origin checkpoint',
  log_joins: 'nonce answer',
  log_pending: 'checkpoint',
  log_queue: 'tail type entry',
  member_actions: 'membership operation request api_key',
  mandates: 'id tail approval_id created_by',
  memberships: 'id role source end_reason',
  log_witnesses: 'witness cosignature failure problem',
  notifications: 'id kind',
  organisation_domains: 'proven_by',
  owners: 'kind public_id',
  passkeys: 'credential_id',
  report_evidence: 'report_id keyid delegate',
  reports: 'id tail category state',
  schema_expansions: 'name',
  schema_migrations: 'name applied_at',
  scim_tokens: 'id created_by',
  scim_users: 'id',
  sessions: 'id method passkey_id provider',
  settings: 'name value',
  status_entries: 'tail grade assurance',
  sso_connections: 'id subject_claim',
  suspended_keys: 'reason',
  transfer_agents: 'transfer_id tail',
  transfers: 'id state started_by accepted_by failure',
  used_nonces: 'hash keyid',
  webhook_deliveries: 'id endpoint_id type tail state',
  webhook_endpoints: 'id created_by_key created_by types format state disabled_reason leased_by',
  witness_keys: 'name',
  witnessed_logs: 'origin checkpoint',
}

const OWN_TAILS = `select tail from agents where owner_id = ${OWNER_ID}`
/** Which rows of a table are the owner's, if it has no `owner_id`. */
const WHERE: Readonly<Record<string, string>> = {
  owners: `id = ${OWNER_ID}`,
  channel_checks: `channel_id in (select id from channels where tail in (${OWN_TAILS}))`,
  channel_leases: `channel_id in (select id from channels where tail in (${OWN_TAILS}))`,
  channels: `tail in (${OWN_TAILS})`,
  delegations: `tail in (${OWN_TAILS})`,
  grant_uses: `tail in (${OWN_TAILS})`,
  report_evidence: `report_id in (select id from reports where owner_id = ${OWNER_ID})`,
  log_entries: `tail in (${OWN_TAILS})`,
  status_entries: `tail in (${OWN_TAILS})`,
  webhook_deliveries: `endpoint_id in (select id from webhook_endpoints where owner_id = ${OWNER_ID})`,
}

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

const namesOf = (text: string | undefined) => text?.replaceAll(/[[\]]/g, '').split(' ') ?? []

/** Everything that a mark or a number could be found in, for each row. */
function rowsOf(service: TestService): Promise<{ table: string; text: string; row: object }[]> {
  return withRaw(service.settings, async (raw) => {
    const all = []
    for (const table of await raw.tables()) {
      for (const row of await raw.all(`select * from "${table}"`)) {
        const values = Object.values(row).map((value) =>
          value instanceof Uint8Array
            ? `${Buffer.from(value).toString('hex')} ${Buffer.from(value).toString('latin1')}`
            : String(value),
        )
        all.push({ table, text: values.join('\n'), row })
      }
    }
    return all
  })
}

/** The mark as text, and its hexadecimal and base64 forms wherever it begins. */
const TRACES = [
  MARK,
  Buffer.from(MARK).toString('hex'),
  ...[0, 1, 2].map((before) =>
    Buffer.from('x'.repeat(before) + MARK)
      .toString('base64')
      .slice(before === 0 ? 0 : before + 1, -4),
  ),
]

function assertWithoutMark(bytes: Buffer, where: string): void {
  for (const trace of TRACES) {
    assert.equal(bytes.includes(trace), false, `${trace} is in ${where}`)
    assert.equal(bytes.includes(trace.toUpperCase()), false, `${trace} is in ${where}`)
  }
}

/** An owner with rows in every table that an owner can reach, and the mark in every text of them. */
async function markedOwner(service: TestService, now: () => number) {
  const { operator, settings } = service
  await withRaw(settings, (raw) =>
    raw.exec(`insert into settings (name, value) values ('next_owner_id', '${OWNER_ID}')`),
  )
  const ownerId = await operator.addVerifiedOwner(`${MARK}-owner`)
  assert.equal(ownerId, OWNER_ID)
  const owner = await signIn(service, ownerId, now())
  const dids = []
  for (const label of ['one', 'two']) {
    dids.push(await claimAgent(service, ownerId, newKey(), `${MARK} ${label}`))
  }
  const [did, retired] = dids as [string, string]
  await editAgent(owner, did, { username: `${MARK}-agent`, displayName: MARK, description: MARK })
  await certificateOf(service, did)
  assert.equal((await owner.post(`${AGENTS}/${retired}/revoke`, { reason: 'retired' })).status, 200)
  const place = { kind: 'runtime', handleOrDomain: `${MARK}-host` }
  assert.equal((await owner.post(`${AGENTS}/${did}/channels`, place)).status, 201)
  await insertOwnerRecords(service, ownerId)
  const tail = did.slice(-24)
  await operator.db.write(async ({ db }) => {
    const { id: channel } = await db
      .selectFrom('channels')
      .select('id')
      .where('tail', '=', tail)
      .executeTakeFirstOrThrow()
    const check = { channel_id: channel, at: now(), outcome: 'found', perspectives: '[]' }
    await db
      .insertInto('channel_checks')
      .values(check as never)
      .execute()
    await db
      .insertInto('channel_leases')
      .values({ channel_id: channel, due_at: null, leased_by: null, held_until: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    await db
      .insertInto('grant_issuers')
      .values({ id: 'issuer', owner_id: ownerId, name: 'x', created_at: 1, deleted_at: null })
      .execute()
    await db
      .insertInto('grant_assignments')
      .values({ tail, issuer_id: 'issuer', assigned_at: 1 })
      .execute()
    const asked = { id: 'ap_1', seq: 1, tail, owner_id: ownerId, key_sequence: 1, state: 'pending' }
    const request = { service: 'x', method: 'x', url: 'x', origin: 'x', request_digest: 'x' }
    const texts = { body: 'x', body_digest: 'x', message: 'x', message_digest: 'x', salt: 'x' }
    const until = { valid_seconds: 1, created_at: now(), expires_at: now() + 1e9 }
    await db
      .insertInto('approvals')
      .values({ ...asked, ...request, ...texts, ...until, signature: Buffer.from(MARK) } as never)
      .execute()
    const signed = {
      ...{ passkey_key: Buffer.from(MARK), client_data: Buffer.from(MARK) },
      ...{ authenticator_data: Buffer.from(MARK), signature: Buffer.from(MARK) },
    }
    const made = { id: 'md_1', seq: 1, tail, owner_id: ownerId, key_sequence: 1, statement: 'x' }
    const lasting = { approval_id: 'ap_1', created_at: now(), expires_at: now() + 1e9 }
    await db
      .insertInto('mandates')
      .values({ ...made, ...lasting, ...signed } as never)
      .execute()
    const rule = {
      id: 'er_1',
      owner_id: ownerId,
      name: 'x',
      keys: '{}',
      match: '{}',
      agent_label: 'x',
    }
    const limits = { max_live: 1, unseen_after_seconds: 3600, max_token_seconds: 300 }
    const state = { binding: 'token', state: 'active', created_at: 1, admitted_at: 1 }
    await db
      .insertInto('enrolment_rules')
      .values({ ...rule, ...limits, ...state } as never)
      .execute()
    const seen = { created_at: 1, seen_at: 1, ends_at: now() + 1e10 }
    await db
      .insertInto('enrolments')
      .values({ tail, rule_id: 'er_1', owner_id: ownerId, claims: '{}', ...seen } as never)
      .execute()
    const report = { id: 'rp_1', tail, owner_id: ownerId, token_hash: Buffer.from(MARK) }
    const written = { host: 'x', text: 'x', contact: 'x', answer: 'x', answered_at: 1 }
    await db
      .insertInto('reports')
      .values({ ...report, ...written, category: 'rate', state: 'answered', received_at: now() })
      .execute()
    const signature = { signature_hash: Buffer.from(MARK), created: 1, keyid: 'x', delegate: null }
    await db
      .insertInto('report_evidence')
      .values({
        report_id: 'rp_1',
        position: 0,
        ...signature,
        method: 'x',
        path: 'x',
        request: '{}',
      })
      .execute()
    const use = { tail, audience: 'x', first_at: 1, last_at: 1, grants: 1 }
    await db.insertInto('grant_uses').values(use).execute()
    const entry = await db
      .selectFrom('status_entries')
      .select(['list', 'idx'])
      .where('tail', '=', tail)
      .executeTakeFirstOrThrow()
    const times = { created_at: now(), expires_at: now() + 1e9, ended_at: null, ended_by: null }
    await db
      .insertInto('delegations')
      .values({ id: 'group', tail, ...entry, label: 'x', ...times })
      .execute()
    await db
      .insertInto('avatars')
      .values({ tail, webp: Buffer.from(MARK) })
      .execute()
    await db.insertInto('log_quotas').values({ owner_id: ownerId, day: 1, entries: 1 }).execute()
    await db
      .insertInto('log_queue')
      .values({
        seq: 900_000_000,
        tail,
        owner_id: ownerId,
        type: 'grade',
        entry: '{}',
        evidence: null,
        not_before: now() + 1e10,
      })
      .execute()
    const endpoint = await db
      .selectFrom('webhook_endpoints')
      .select('id')
      .where('owner_id', '=', ownerId)
      .executeTakeFirstOrThrow()
    await db
      .insertInto('webhook_deliveries')
      .values({
        id: 'delivery',
        endpoint_id: endpoint.id,
        seq: 1,
        type: 'agent.claimed',
        tail,
        at: now(),
        state: 'failed',
        created_at: now(),
        attempts: 1,
        attempted_at: now(),
        status: null,
        problem: 'x',
        duration_ms: 1,
      } as never)
      .execute()
  })
  await untilLogged(service, 3)
  await withRaw(settings, async (raw) => {
    // What this connection itself replaces must not stay in the file either.
    if (!ON_POSTGRES) await raw.exec('pragma secure_delete = on')
    for (const [table, columns] of Object.entries(MARKED)) {
      const where = WHERE[table] ?? `owner_id = ${OWNER_ID}`
      for (const column of columns.split(' ')) {
        // In place of every text: unique columns keep what follows it, names stay as they are.
        const name = column.replaceAll(/[[\]]/g, '')
        const isKept = (table === 'owners' || table === 'agents') && name.startsWith('username')
        const marked = column.startsWith('[') ? `'${JSON_MARK}'` : `'${MARK}'`
        const unique =
          ['subject', 'audience', 'address', 'handle_or_domain'].includes(name) ||
          table === 'sign_in_identities'
            ? `'${MARK}' || ${name}`
            : marked
        if (!isKept) await raw.exec(`update ${table} set ${name} = ${unique} where ${where}`)
        const [count] = await raw.all(
          `select count(*) as n from ${table} where ${where} and ${name} like '%${MARK}%'`,
        )
        assert.ok(Number(count?.n) > 0, `${table}.${name} has the mark`)
      }
    }
  })
  return { owner, did, retired }
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
