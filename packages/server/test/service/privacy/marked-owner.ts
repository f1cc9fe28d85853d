import assert from 'node:assert/strict'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { ON_POSTGRES } from '../../../../../test/support/postgres.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import { claimAgent, type TestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { AGENTS, editAgent } from '../../agents/manage/with-agent.ts'
import { JSON_MARK, MARK, MARKED, OWNER_ID } from './marked-columns.ts'
import { insertOwnerRecords } from './owner-records.ts'

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

/** An owner with rows in every table that an owner can reach, and the mark in every text of them. */
export async function markedOwner(service: TestService, now: () => number) {
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
