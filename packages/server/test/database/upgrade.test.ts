import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type AgentKeys, type Card, randomTail } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { recoveryBody, rotationBody } from '../../../../test/support/key-operations.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { withRaw } from '../../../../test/support/raw-database.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { replaceKey } from '../../../../test/support/replace-key.ts'
import {
  claimAgent,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signInBy } from '../../../../test/support/sign-in-by.ts'
import { until } from '../../../../test/support/until.ts'
import { unverifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { agentByTail } from '../../src/agents/agent-table.ts'
import { keysOfAgent } from '../../src/agents/keys/agent-key-table.ts'

/** Reverts a database to the schema before migration 0016: keys are not replaced yet. */
const BEFORE_RECOVERIES = `
  DROP TABLE key_recoveries;
  ALTER TABLE agents DROP COLUMN key_changed_by;
  ALTER TABLE agent_keys DROP COLUMN changed_by;
  ALTER TABLE sessions DROP COLUMN provider;
  UPDATE facts SET value = replace(value, ',0016-key-recoveries', '') WHERE name = 'schema_expansions';
`

/** Reverts a database to the schema after migration 0008, before the table of keys. */
const BEFORE_KEYS = `
  ${BEFORE_RECOVERIES}
  DROP TABLE agent_keys;
  ALTER TABLE agents DROP COLUMN key_sequence;
  ALTER TABLE agents DROP COLUMN key_changed_at;
  UPDATE facts SET value = replace(value, '0009-agent-keys,', '') WHERE name = 'schema_expansions';
`

/** Reverts a database to the schema after migration 0009, before suspensions of keys and owners. */
const BEFORE_SUSPENSIONS = `
  DROP TABLE suspended_keys;
  ALTER TABLE owners DROP COLUMN suspended_at;
  ALTER TABLE owners DROP COLUMN suspension_reason;
  UPDATE facts SET value = replace(value, '0010-suspensions,', '') WHERE name = 'schema_expansions';
`

/** Reverts a database to the schema before migration 0003. */
const BEFORE_CHANNELS = `
  DROP TABLE channel_leases;
  DROP TABLE channel_checks;
  DROP TABLE channels;
  CREATE TABLE channels (id text PRIMARY KEY, tail text NOT NULL);
  ALTER TABLE agents DROP COLUMN grade;
  DELETE FROM schema_migrations WHERE name = '0003-channels';
  DELETE FROM events WHERE type = 'agent.grade_changed';
`

test('migrating a database from before channels gives each agent its grade, without events', async (t) => {
  const service = await startTestService(t)
  const { operator, settings, env } = service
  const high = await operator.addVerifiedOwner('high', 'high')
  const low = await operator.addVerifiedOwner('low', 'low')
  const none = await operator.addVerifiedOwner('none', 'low')
  const dids = {
    C: await claimAgent(service, high),
    D: await claimAgent(service, low),
    E: await claimAgent(service, none),
    suspended: await claimAgent(service, high),
  }
  await unverifyOwner({ db: operator.db, now: Date.now }, none, 'in-person')
  await setStatus(service, dids.suspended, 'suspended')
  await service.stop()
  await withRaw(settings, (raw) => raw.exec(BEFORE_CHANNELS))

  const again = await startTestService(t, env)

  for (const [expected, did] of Object.entries(dids)) {
    const { grade } = jsonOf<Card>(await ask(again, `/api/agents/${did}/card`))
    assert.equal(grade, expected === 'suspended' ? 'E' : expected)
    const stored = await again.operator.db.read
      .selectFrom('agents')
      .select('grade')
      .where('tail', '=', did.slice(-24))
      .executeTakeFirstOrThrow()
    assert.equal(stored.grade, grade, 'later grade changes are relative to the stored grade')
  }
  const changes = await again.operator.db.read
    .selectFrom('events')
    .select('seq')
    .where('type', '=', 'agent.grade_changed')
    .execute()
  assert.deepEqual(changes, [])
})

test('a database from before keys had a table answers lookups, verifications and claims as it did', async (t) => {
  const before = await startTestService(t)
  const owner = await before.operator.addVerifiedOwner()
  const [shared, revokedKey, fresh] = [newKey(), newKey(), newKey()]
  const dids = {
    active: await claimAgent(before, owner, shared, 'a'),
    suspended: await claimAgent(before, owner, shared, 'b'),
    revoked: await claimAgent(before, owner, revokedKey, 'c'),
  }
  await setStatus(before, dids.suspended, 'suspended')
  await setStatus(before, dids.revoked, 'revoked', 'no_longer_used')
  const token = await before.operator.issueToken(owner)
  const answersOf = async (service: TestService) => {
    const paths = Object.values(dids).flatMap((did) => [
      `/api/v1/agent/${did}`,
      `/api/agents/${did}/card`,
      `/api/agents/${did}/grade`,
    ])
    for (const key of [shared, revokedKey, fresh])
      paths.push(`/api/v1/agent/${encodeURIComponent(key.publicKey)}`)
    const read = await Promise.all(paths.map(async (path) => jsonOf(await ask(service, path))))
    const keys = [shared, revokedKey, fresh]
    const verified = keys.map((key) => post(service, '/api/v1/agent/verify', verifyBody(key)))
    const all = [...read, ...(await Promise.all(verified)).map((answer) => jsonOf(answer))]
    return all.map((answer) => JSON.stringify(answer).replaceAll(/"req_[^"]*"/g, 'a request'))
  }
  const answers = await answersOf(before)
  await before.stop()
  await withRaw(before.settings, (raw) => raw.exec(BEFORE_KEYS))

  const after = await startTestService(t, { ...before.env, BASE_URL: before.url })

  assert.deepEqual(await answersOf(after), answers)
  for (const [did, key] of [
    [dids.active, shared],
    [dids.suspended, shared],
    [dids.revoked, revokedKey],
  ] as const) {
    const agent = await agentByTail(after.operator.db.read, did.slice(-24))
    assert.ok(agent)
    const [only, ...others] = await keysOfAgent(after.operator.db.read, agent)
    assert.ok(only)
    assert.deepEqual([only.sequence, only.state, others.length], [1, 'current', 0])
    assert.ok(bytesOf(key).equals(only.public_key))
  }
  const taken = await post(after, '/api/v1/claim', claimBody(token, shared, 'b'))
  assertRefused(taken, 409, 'KEY_ALREADY_CLAIMED')
  // The pair of a revoked agent is free, and the token from before is still good.
  const claimed = await post(after, '/api/v1/claim', claimBody(token, revokedKey, 'c'))
  assert.equal(claimed.status, 200, claimed.text)
})

/** The columns that the release before 0009 writes at a claim. */
const CLAIM_OF_0008 = `INSERT INTO agents (seq, tail, public_key, agent_id, owner_id, claimed_at, grade,
    status, status_set_by, pair_slot, status_changed_at, updated_at, version)
  SELECT max(seq) + 1, :tail, :key, 'label', :owner, 1700000000000, 'C',
    'active', 'owner', 0, 1700000000000, 1700000000000, max(seq) + 1 FROM events`
const EVENT_OF_0008 = `INSERT INTO events (seq, at, type, tail, owner_id, facts)
  SELECT max(seq) + 1, 1700000000000, 'agent.claimed', :tail, :owner, :facts FROM events`

test('while nodes of the release before still run, the agents that they claim have keys as all others', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  await claimAgent(service, owner)
  const [key, next] = [newKey(), newKey()]
  const tail = randomTail(randomBytes)
  const hex = bytesOf(key).toString('hex')
  const values = {
    ':tail': `'${tail}'`,
    ':key': ON_POSTGRES ? `decode('${hex}', 'hex')` : `x'${hex}'`,
    ':owner': `${owner}`,
    ':facts': `'${JSON.stringify({ publicKey: key.publicKey })}'`,
  }
  const statements = [CLAIM_OF_0008, EVENT_OF_0008].map((statement) =>
    statement.replaceAll(/:\w+/g, (name) => values[name as keyof typeof values]),
  )
  await withRaw(service.settings, (raw) => raw.exec(`BEGIN; ${statements.join(';')}; COMMIT`))

  const holderOf = async (each: TestKey) => {
    const answer = await post(service, '/api/v1/agent/verify', verifyBody(each))
    return answer.status === 200 ? (jsonOf(answer).agent as { svcDid: string }).svcDid : null
  }
  await until(async () => (await holderOf(key)) === `svc:agent:${tail}`)
  await replaceKey(service.operator.db, tail, bytesOf(next))
  await until(async () => (await holderOf(next)) === `svc:agent:${tail}`)
  assert.equal(await holderOf(key), null)
  const { read } = service.operator.db
  const agent = await agentByTail(read, tail)
  assert.ok(agent)
  assert.deepEqual(
    (await keysOfAgent(read, agent)).map(({ sequence, state }) => [sequence, state]),
    [
      [1, 'retired'],
      [2, 'current'],
    ],
  )
})

/** What the release before 0009 compares with the migrations that it knows, when it starts. */
const MIGRATIONS_OF_0008 = [
  '0001-first',
  '0002-owners',
  '0003-channels',
  '0004-commit-marks',
  '0005-facts',
  '0006-rate-counts',
  '0007-job-due-since',
  '0008-pruning',
]

test('after migrations that expand the schema, the release before can be started again', async (t) => {
  const service = await startTestService(t)
  const recorded = () =>
    withRaw(service.settings, (raw) => raw.all('SELECT name FROM schema_migrations ORDER BY name'))
  assert.deepEqual(
    (await recorded()).map(({ name }) => name),
    MIGRATIONS_OF_0008,
  )
  // Recorded like other migrations by a version from before the first release: they are moved at the next start.
  await service.stop()
  await withRaw(service.settings, (raw) =>
    raw.exec("INSERT INTO schema_migrations VALUES ('0009-agent-keys', 0)"),
  )
  const again = await startTestService(t, service.env)
  assert.equal((await ask(again, '/readyz')).status, 200)
  assert.deepEqual(
    (await recorded()).map(({ name }) => name),
    MIGRATIONS_OF_0008,
  )
})

test('this release can be started on a database that the next one has expanded', async (t) => {
  const before = await startTestService(t)
  const did = await claimAgent(before, await before.operator.addVerifiedOwner())
  await before.stop()
  await withRaw(before.settings, (raw) =>
    raw.exec(`
      UPDATE facts SET value = value || ',9999-later' WHERE name = 'schema_expansions';
      ALTER TABLE agents ADD COLUMN later text;
      CREATE TABLE later (name text PRIMARY KEY);
    `),
  )

  const after = await startTestService(t, before.env)

  assert.equal((await ask(after, `/api/v1/agent/${did}`)).status, 200)
  await claimAgent(after, await after.operator.addVerifiedOwner())
  const [row] = await withRaw(after.settings, (raw) =>
    raw.all("SELECT value FROM facts WHERE name = 'schema_expansions'"),
  )
  assert.match(String(row?.value), /,9999-later$/, 'the next release need not apply it again')
})

test("migrating suspends the keys of agents that the operator had suspended, and no owner's own", async (t) => {
  const before = await startTestService(t)
  const owner = await before.operator.addVerifiedOwner()
  const keys = { operator: newKey(), owner: newKey() }
  const dids = {
    operator: await claimAgent(before, owner, keys.operator, 'a'),
    owner: await claimAgent(before, owner, keys.owner, 'b'),
  }
  await setStatus(before, dids.operator, 'suspended', 'abuse', 'operator')
  await setStatus(before, dids.owner, 'suspended')
  await before.stop()
  await withRaw(before.settings, (raw) => raw.exec(BEFORE_SUSPENSIONS))

  const after = await startTestService(t, before.env)

  const claim = async (key: TestKey) =>
    post(after, '/api/v1/claim', claimBody(await after.operator.issueToken(owner), key, 'c'))
  assertRefused(await claim(keys.operator), 409, 'KEY_ALREADY_CLAIMED', /operator suspended/)
  assert.equal((await claim(keys.owner)).status, 200)
  await setStatus(after, dids.operator, 'active', null, 'operator')
  assert.equal((await claim(keys.operator)).status, 200)
})

test('a database from before keys could be replaced has the history of each key, and replaces keys', async (t) => {
  const before = await startTestService(t)
  const owner = await before.operator.addVerifiedOwner()
  const [key, burned, next] = [newKey(), newKey(), newKey()]
  const did = await claimAgent(before, owner, key, 'a')
  const revoked = await claimAgent(before, owner, burned, 'b')
  await setStatus(before, revoked, 'revoked', 'key_compromised')
  const before0016 = { ...before.env, BASE_URL: before.url }
  const shown = await ask(before, `/api/v1/agent/${did}/keys`)
  await before.stop()
  await withRaw(before.settings, (raw) => raw.exec(BEFORE_RECOVERIES))

  const after = await startTestService(t, before0016)

  assert.equal((await ask(after, `/api/v1/agent/${did}/keys`)).text, shown.text)
  const { keys } = jsonOf<AgentKeys>(await ask(after, `/api/v1/agent/${revoked}/keys`))
  assert.deepEqual(
    keys.map(({ sequence, state, changedBy }) => [sequence, state, changedBy]),
    [[1, 'compromised', 'claim']],
  )
  const body = rotationBody({ url: before.url }, did, { old: key, next, sequence: 2 })
  assert.equal((await post(after, `/api/v1/agent/${did}/keys`, body)).status, 200)
  const old = await post(after, '/api/v1/agent/verify', verifyBody(key))
  assertRefused(old, 404, 'NOT_FOUND', /replaced/)
})

test('a recovery whose agent a node of the release before has revoked does not take effect', async (t) => {
  const service = await startTestService(t, { RECOVERY_DELAY: '1s' })
  const { operator, settings } = service
  const ownerId = await operator.addVerifiedOwner()
  const did = await claimAgent(service, ownerId)
  const owner = await signInBy(service, ownerId, Date.now)
  const recovery = { reason: 'key_lost' }
  const started = await owner.post(`/api/account/agents/${did}/recovery`, recovery)
  const token = jsonOf(started).recoveryToken as string
  const body = recoveryBody(service, did, { token, next: newKey(), sequence: 2 })
  assert.equal((await post(service, `/api/v1/agent/${did}/recover`, body)).status, 200)
  await withRaw(settings, (raw) =>
    raw.exec(
      `UPDATE agents SET status = 'revoked', pair_slot = seq WHERE tail = '${did.slice(-24)}'`,
    ),
  )
  await until(async () => {
    service.tick()
    const { recovery } = jsonOf(await ask(service, `/api/v1/agent/${did}/keys`))
    return recovery === null
  })
  assert.equal(jsonOf(await ask(service, `/api/v1/agent/${did}/keys`)).keySequence, 1)
})

function bytesOf({ publicKey }: TestKey): Buffer {
  return Buffer.from(publicKey, 'base64')
}
