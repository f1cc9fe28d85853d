import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { AccountExport } from '@countersign/protocol'
import sharp from 'sharp'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotateTo } from '../../../../../test/support/key-operations.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { keysOf, recoverWith, signInBy, startRecovery } from '../../agents/keys/with-keys.ts'
import { AGENTS, editAgent, newOwner } from '../../agents/manage/with-agent.ts'
import { insertOwnerRecords } from './owner-records.ts'

const EXPORT = '/api/account/export'
const ENCODINGS = ['hex', 'base64', 'base64url'] as const

test('the export contains everything about the owner, and nothing about others', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const stranger = await newOwner(service, 'grace')
  const { names } = await insertOwnerRecords(service, owner.ownerId)
  const [credential, keyName] = names
  const handle = names.at(-1)
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key, 'my label')
  const theirs = await claimAgent(service, stranger.ownerId, newKey(), 'their label')
  await editAgent(owner, did, { displayName: 'Desk' })
  const allowed = await owner.send('PUT', `${AGENTS}/${did}/delegation`, { maxDepth: 2 })
  assert.equal(allowed.status, 200, allowed.text)
  const png = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const { origin } = service.settings.baseUrl
  await ask(service, `${AGENTS}/${did}/avatar`, {
    method: 'PUT',
    headers: { cookie: owner.cookie, origin, 'content-type': 'image/png' },
    body: new Uint8Array(png),
  })

  const answer = await unchanged(service, () => owner.get(EXPORT))

  assert.equal(answer.status, 200)
  assert.equal(
    answer.headers.get('content-disposition'),
    'attachment; filename="svc-account-ada.json"',
  )
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const all = jsonOf<AccountExport>(answer)
  assert.deepEqual(all.owner, { username: 'ada', displayName: 'Owner ada' })
  assert.deepEqual(
    all.passkeys.map(({ id, name, lastUsedAt, backedUp }) => [id, name, lastUsedAt, backedUp]),
    [[credential, keyName, null, true]],
  )
  assert.deepEqual([all.recoveryCodes.left, all.userHandle], [1, handle])
  assert.deepEqual(
    all.sessions.map(({ current, method, browser }) => [current, method, browser]),
    [[true, 'passkey', 'a test']],
  )
  assert.deepEqual(
    all.signInProviders.map(({ id }) => id),
    ['github'],
  )
  assert.deepEqual(
    all.apiKeys.map(({ name, scopes }) => [name, scopes]),
    [['CI', ['agents:read']]],
  )
  assert.equal(all.signInLinks.length, 1)
  assert.deepEqual(
    all.begun.map(({ kind, provider }) => [kind, provider]),
    [['identity', 'github']],
  )
  assert.deepEqual(
    all.verifications.map(({ provider, assurance }) => [provider, assurance]),
    [['in-person', 'substantial']],
  )
  assert.deepEqual(
    all.claimTokens.map(({ usedAt }) => usedAt === null),
    [false],
  )
  assert.deepEqual(
    all.events.map(({ type }) => type),
    ['owner.identity_verified'],
  )
  assert.deepEqual(
    all.activity.map(({ type, facts }) => [type, facts]),
    [['owner.signed_in', { method: 'passkey', browser: 'a test' }]],
  )
  assert.equal(all.agents.length, 1)
  const [agent] = all.agents
  assert.equal((agent as unknown as { svcDid: string }).svcDid, did)
  assert.deepEqual([agent?.agentId, agent?.publicKey], ['my label', key.publicKey])
  assert.deepEqual(
    agent?.history.map(({ type }) => type),
    ['agent.updated', 'agent.delegation_changed', 'agent.updated', 'agent.claimed'],
  )
  assert.equal(agent?.maxDelegationDepth, 2)
  const picture = await fetch(`${service.url}/api/agents/${did}/avatar.webp`)
  assert.equal(agent?.avatar, Buffer.from(await picture.arrayBuffer()).toString('base64'))
  for (const foreign of ['grace', theirs, 'their label']) {
    assert.equal(answer.text.includes(foreign), false, foreign)
  }
})

test('the export has the former and current keys of an agent, and its pending recovery', async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const owner = await signInBy(service, ownerId, Date.now)
  const [first, second, third] = [newKey(), newKey(), newKey()]
  const did = await claimAgent(service, ownerId, first, 'main')
  await rotateTo(service, did, { old: first, next: second, sequence: 2 })
  const token = await startRecovery(owner, did, 'key_compromised')
  await recoverWith(service, did, { token, next: third, sequence: 3 })

  const { text } = await owner.get(EXPORT)

  const [agent] = (JSON.parse(text) as AccountExport).agents
  const { keys, recovery } = await keysOf(service, did)
  assert.deepEqual(
    agent?.keys,
    keys.map((key, i) => ({ ...key, publicKey: [first, second][i]?.publicKey })),
  )
  assert.deepEqual(
    keys.map(({ state, until }) => [state, until === null]),
    [
      ['retired', false],
      ['compromised', false],
    ],
  )
  const { tokenExpiresAt, tokenUsedAt, ...pending } = agent?.recovery ?? assert.fail()
  assert.deepEqual(pending, recovery)
  assert.equal(tokenUsedAt, recovery?.redeemedAt)
  assert.ok(Date.parse(tokenExpiresAt) > Date.parse(recovery?.startedAt as string))
  const hash = createHash('sha256').update(token).digest()
  for (const secret of [token, ...ENCODINGS.map((encoding) => hash.toString(encoding))]) {
    assert.equal(text.includes(secret), false)
  }
})

test('no secret and no hash of one is in the export', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const { secrets } = await insertOwnerRecords(service, owner.ownerId)
  const token = await service.operator.issueToken(owner.ownerId)
  const session = owner.cookie.split('=')[1] as string
  const hashes = [token, session].map((each) => createHash('sha256').update(each).digest())
  const verification = await service.operator.db.read
    .selectFrom('identity_verifications')
    .select(['subject_hash', 'pepper_id'])
    .executeTakeFirstOrThrow()
  const { text } = await owner.get(EXPORT)
  for (const bytes of [...secrets, ...hashes, Buffer.from(verification.subject_hash)]) {
    for (const encoding of ENCODINGS) {
      assert.equal(text.includes(bytes.toString(encoding)), false)
    }
  }
  for (const secret of [token, session, verification.pepper_id]) {
    assert.equal(text.includes(secret), false)
  }
})

test('the export contains every agent, even if there are many', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const dids: string[] = []
  for (let i = 0; i < 205; i++) {
    dids.push(await claimAgent(service, owner.ownerId, newKey(), `agent-${i}`))
  }
  const { agents } = jsonOf<{ agents: { svcDid: string }[] }>(await owner.get(EXPORT))
  assert.deepEqual(
    agents.map(({ svcDid }) => svcDid),
    dids.toReversed(),
  )
})
