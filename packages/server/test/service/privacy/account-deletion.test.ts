import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card, CompactCard, Lookup } from '@countersign/protocol'
import sharp from 'sharp'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  claimBody,
  postJson,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { QUARANTINE_MS } from '../../../src/accounts/username-quarantine.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'
import { AGENTS, editAgent, newOwner } from '../../agents/manage/with-agent.ts'
import { openStream } from '../../pages/dashboard/event-source.ts'
import { insertOwnerRecords } from './owner-records.ts'

const DELETION = '/api/account/deletion'

/** Everything in the database, as text: bytes as hexadecimal. */
function dump({ settings }: TestService): Promise<string> {
  return withRaw(settings, async (raw) => {
    const tables = await raw.tables()
    const rows = await Promise.all(tables.map((name) => raw.all(`SELECT * FROM "${name}"`)))
    return rows
      .flat()
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value))
      .join('\n')
  })
}

function uploadPicture(service: TestService, owner: SignedInOwner, did: string, png: Buffer) {
  return ask(service, `${AGENTS}/${did}/avatar`, {
    method: 'PUT',
    headers: {
      cookie: owner.cookie,
      origin: service.settings.baseUrl.origin,
      'content-type': 'image/png',
    },
    body: new Uint8Array(png),
  })
}

test('a deleted account leaves revoked DIDs, and nothing that identifies their owner', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada-of-old')
  const { secrets, names } = await insertOwnerRecords(service, owner.ownerId)
  const { db } = service.operator
  const pepper = loadPepper(service.settings)
  const subject = { provider: 'test-eid', issuer: 'https://eid.example', subject: 'human-1' }
  const verification = { ...subject, assurance: 'high' as const, expiresAt: Date.now() + 60_000 }
  await verifyOwner({ db, now: Date.now, pepper }, owner.ownerId, verification)
  const key = newKey()
  const active = await claimAgent(service, owner.ownerId, key, 'label-of-old')
  const revoked = await claimAgent(service, owner.ownerId, newKey(), 'other-label-of-old')
  for (const did of [active, revoked]) {
    const last = did.slice(-24, -18).toLowerCase()
    await editAgent(owner, did, {
      displayName: `Name of old ${last}`,
      username: `name-of-old-${last}`,
      description: 'Text of old',
    })
    const background = { r: 1, g: 2, b: did === active ? 3 : 200 }
    const png = await sharp({ create: { width: 9, height: 9, channels: 3, background } })
      .png()
      .toBuffer()
    assert.equal((await uploadPicture(service, owner, did, png)).status, 200)
  }
  await owner.post(`${AGENTS}/${revoked}/revoke`, { reason: 'retired' })
  const token = await service.operator.issueToken(owner.ownerId)
  const stream = await openStream(service, owner)
  const before = await dump(service)
  const subjectHash = pepper.hash(subject.provider, subject.issuer, subject.subject)
  const pictures = await db.read.selectFrom('avatars').selectAll().execute()
  const traces = [
    'of old',
    'of-old',
    'expire-verification',
    ...names,
    ...[...secrets, subjectHash, ...pictures.map(({ webp }) => webp)].map((each) =>
      Buffer.from(each).toString('hex'),
    ),
  ]
  for (const trace of traces) assert.ok(before.includes(trace), `${trace} is there before`)

  const answer = await owner.post(DELETION, { username: 'ada-of-old' })

  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(jsonOf(answer), { revokedAgents: 1 })
  const [cookie] = answer.headers.getSetCookie()
  assert.match(
    cookie as string,
    /^countersign-session-\d+=; .*(Max-Age=0|Expires=Thu, 01 Jan 1970)/,
  )
  const after = await dump(service)
  for (const trace of traces) assert.equal(after.includes(trace), false, `${trace} is left`)
  for (let event = await stream.next(); event !== null; event = await stream.next()) {
    assert.match(event.event, /^agent\./)
  }
  assertRefused(await owner.get(AGENTS), 401, 'UNAUTHENTICATED')

  for (const [did, reason] of [
    [active, 'owner_deleted'],
    [revoked, 'retired'],
  ] as const) {
    const lookup = jsonOf<Lookup>(await ask(service, `/api/v1/agent/${did}`))
    assert.equal(lookup.verified, false)
    assert.deepEqual(lookup.certificate, { id: did, status: 'revoked', verifyUrl: `/agent/${did}` })
    assert.deepEqual(
      [lookup.owner.identityMethod, lookup.owner.identityLevel],
      [null, 'unverified'],
    )
    const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    assert.deepEqual(
      [card.owner, card.verification, card.username, card.description, card.grade],
      [null, null, null, '', 'E'],
    )
    assert.match(card.displayName, /^Agent /)
    assert.match(card.avatarUrl, /avatar\.svg$/)
    const compact = jsonOf<CompactCard>(await ask(service, `/api/v1/agent/${did}/card`))
    assert.deepEqual(compact.owner, { displayName: 'Deleted owner', username: '' })
    const object = jsonOf(await ask(service, `/api/agents/${did}`))
    assert.deepEqual([object.owner, object.statusReason], [null, reason])
    assertRefused(await ask(service, `/api/agents/${did}/avatar.webp`), 404, 'NOT_FOUND')
  }
  const late = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
  assert.ok([404, 410].includes(late.status), 'no token of a deleted owner can be redeemed')
})

test('after deletion the person and the keys can be used again, and after 90 days the usernames', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, {}, () => now)
  const owner = await newOwner(service, 'ada')
  const { db } = service.operator
  const deps = { db, now: () => now, pepper: loadPepper(service.settings) }
  const human = {
    provider: 'test-eid',
    issuer: 'https://eid.example',
    subject: 'human-1',
    assurance: 'high' as const,
    expiresAt: null,
  }
  await verifyOwner(deps, owner.ownerId, human)
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key, 'main')
  await editAgent(owner, did, { username: 'wanderer' })
  assert.equal((await owner.post(DELETION, { username: 'ada' })).status, 200)

  const early = await newOwner(service)
  const begun = await early.send('PATCH', '/api/account', { username: 'ada' })
  assertRefused(begun, 400, 'VALIDATION_ERROR', /given up/)
  now += QUARANTINE_MS
  const nextId = await service.operator.addVerifiedOwner('ada')
  const next = await signIn(service, nextId, now)
  await verifyOwner(deps, next.ownerId, human)
  const again = await claimAgent(service, next.ownerId, key, 'main')
  await editAgent(next, again, { username: 'wanderer' })
  assert.equal(
    (await next.post(DELETION, { username: 'ada' })).status,
    200,
    'and all of it once more',
  )
})

test("it needs the owner's username and a recent sign-in, otherwise nothing changes", async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  await newOwner(service, 'grace')
  await claimAgent(service, owner.ownerId)
  for (const body of [
    { username: 'grace' },
    { username: 'ad' },
    {},
    { username: 'ada', sure: true },
  ]) {
    const answer = await unchanged(service, () => owner.post(DELETION, body))
    assertRefused(answer, 400, 'VALIDATION_ERROR')
    assert.deepEqual(answer.headers.getSetCookie(), [])
  }
  const earlier = await signIn(service, owner.ownerId, Date.now() - 11 * 60_000)
  assert.equal((await earlier.get(AGENTS)).status, 200, 'signed in, and seen')
  const answer = await unchanged(service, () => earlier.post(DELETION, { username: 'ada' }))
  assertRefused(answer, 403, 'RECENT_SIGN_IN_REQUIRED')
})

test('other accounts are unchanged, and every session of the deleted account ends', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const elsewhere = await signIn(service, owner.ownerId)
  const stranger = await newOwner(service, 'grace')
  const { secrets, names } = await insertOwnerRecords(service, stranger.ownerId)
  const theirs = await claimAgent(service, stranger.ownerId, newKey(), 'their-label')
  await editAgent(stranger, theirs, { displayName: 'Their name', username: 'theirs' })

  const answers = await Promise.all(
    [owner, elsewhere].map((each) => each.post(DELETION, { username: 'ada' })),
  )

  assert.equal(answers.filter(({ status }) => status === 200).length, 1, 'deleted once')
  assertRefused(await elsewhere.get(AGENTS), 401, 'UNAUTHENTICATED')
  const after = await dump(service)
  for (const name of [...names, 'their-label', 'Their name']) assert.ok(after.includes(name), name)
  for (const secret of secrets) assert.ok(after.includes(secret.toString('hex')))
  const card = jsonOf<Card>(await ask(service, `/api/agents/${theirs}/card`))
  assert.deepEqual([card.status, card.owner?.username], ['active', 'grace'])
})

test('requests during the deletion store nothing about the owner', async (t) => {
  const service = await startTestService(t)
  for (let i = 0; i < 10; i++) {
    const username = `fleeting-${i}-one`
    const owner = await signIn(service, await service.operator.addVerifiedOwner(username))
    const names = { username: `${username}s`, displayName: 'Fleeting' }
    const [deleted, edited, codes] = await Promise.all([
      owner.post('/api/account/deletion', { username }),
      owner.send('PATCH', '/api/account', names),
      owner.post('/api/account/recovery-codes'),
    ])
    for (const { status } of [edited, codes])
      assert.ok([200, 201, 401].includes(status), `${status}`)
    // If the rename comes first, the confirmation no longer matches the username.
    if (deleted.status === 400) continue
    assert.equal(deleted.status, 200, deleted.text)
    const { db } = service.operator
    const rows = await db.read
      .selectFrom('owners')
      .select(['username', 'display_name'])
      .where('id', '=', owner.ownerId)
      .execute()
    assert.deepEqual(rows, [])
    const left = await db.read
      .selectFrom('recovery_codes')
      .select('owner_id')
      .where('owner_id', '=', owner.ownerId)
      .execute()
    assert.equal(left.length, 0)
  }
})
