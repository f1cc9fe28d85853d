import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AccountExport, EmailSettings, Notifications } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import {
  headersOf,
  plainTextOf,
  type SmtpServer,
  startSmtpServer,
} from '../../../../../test/support/smtp-server.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'

const EMAIL = '/api/account/email'
const DAY_MS = 86_400_000

interface World {
  readonly clock: { ahead: number }
  readonly smtp: SmtpServer
  readonly service: TestService
}

async function startWorld(t: TestContext): Promise<World> {
  const clock = { ahead: 0 }
  const smtp = await startSmtpServer(t)
  const env = { SMTP_URL: smtp.url, MAIL_FROM: 'noreply@issuer.example' }
  const service = await startTestService(t, env, () => Date.now() + clock.ahead)
  return { clock, smtp, service }
}

async function newOwner({ service, clock }: World, username: string): Promise<SignedInOwner> {
  const ownerId = await service.operator.addVerifiedOwner(username)
  return signIn(service, ownerId, Date.now() + clock.ahead)
}

/** Waits until the SMTP server has so many e-mails to an address, and returns the last one. */
async function lastEmailTo({ service, smtp }: World, address: string, count = 1) {
  const theirs = () => smtp.received.filter(({ to }) => to.includes(address))
  await untilTicked(service, async () => theirs().length >= count)
  assert.equal(theirs().length, count)
  return theirs().at(-1) as (typeof smtp.received)[number]
}

function linkIn(text: string, path: string): string {
  const link = new RegExp(`http://localhost:\\d+(${path}\\S*)`).exec(text)?.[1]
  assert.ok(link !== undefined, text)
  return link
}

async function addVerified(world: World, owner: SignedInOwner, address: string): Promise<void> {
  const before = world.smtp.received.filter(({ to }) => to.includes(address)).length
  const added = await owner.post(`${EMAIL}/addresses`, { address })
  assert.equal(added.status, 201, added.text)
  const email = await lastEmailTo(world, address, before + 1)
  const verified = await submit(world.service, linkIn(plainTextOf(email), '/email/verify'))
  assert.equal(verified.status, 200, verified.text)
  // The confirmation, which is the first notification.
  await lastEmailTo(world, address, before + 2)
}

/** What the button of a page sends. */
function submit(service: TestService, target: string): Promise<Answer> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return ask(service, target, { method: 'POST', headers, body: '' })
}

async function settingsOf(owner: SignedInOwner): Promise<EmailSettings> {
  return jsonOf<EmailSettings>(await owner.get(EMAIL))
}

test('an address is verified by a button behind a single-use link, and not by following the link', async (t) => {
  const world = await startWorld(t)
  const { service, clock } = world
  const owner = await newOwner(world, 'ada')
  const add = (address: string) => owner.post(`${EMAIL}/addresses`, { address })
  for (const bad of ['ada', 'ada@localhost', 'a b@c.example', 'ada@b.example\r\nBcc: x@y.example'])
    assertRefused(await add(bad), 400, 'VALIDATION_ERROR')
  assert.equal((await add('ada@mail.example')).status, 201)
  assertRefused(await add('ADA@mail.example'), 400, 'VALIDATION_ERROR', /already/)

  const first = await lastEmailTo(world, 'ada@mail.example')
  const link = linkIn(plainTextOf(first), '/email/verify')
  const stored = await service.operator.db.read.selectFrom('email_addresses').selectAll().execute()
  const token = new URLSearchParams(link.split('?')[1]).get('token') ?? ''
  assert.ok(!JSON.stringify(stored).includes(token.slice(-20)), 'the token is not stored')
  for (let i = 0; i < 3; i++) assert.equal((await ask(service, link)).status, 200)
  assert.equal(
    (await settingsOf(owner)).addresses[0]?.verifiedAt,
    null,
    'a scanner verifies nothing',
  )
  assert.equal((await submit(service, `${link.slice(0, -1)}!`)).status, 404)
  const both = await Promise.all([submit(service, link), submit(service, link)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 404], 'once')
  assert.equal((await ask(service, link)).status, 404)
  assert.notEqual((await settingsOf(owner)).addresses[0]?.verifiedAt, null)

  // A link expires after a day, and ends when another one is sent.
  assert.equal((await add('second@mail.example')).status, 201)
  const old = linkIn(plainTextOf(await lastEmailTo(world, 'second@mail.example')), '/email/verify')
  const id = (await settingsOf(owner)).addresses[1]?.id
  const resend = () => owner.post(`${EMAIL}/addresses/${id}/link`)
  assertRefused(await resend(), 400, 'VALIDATION_ERROR', /moment/)
  clock.ahead += 3 * 60_000
  assert.equal((await resend()).status, 204)
  const fresh = linkIn(
    plainTextOf(await lastEmailTo(world, 'second@mail.example', 2)),
    '/email/verify',
  )
  assert.equal((await submit(service, old)).status, 404)
  clock.ahead += DAY_MS
  assert.equal((await submit(service, fresh)).status, 404)
})

test('adding an address reveals nothing about other accounts, and cannot flood it', async (t) => {
  const world = await startWorld(t)
  const { smtp, clock } = world
  const ada = await newOwner(world, 'ada')
  await addVerified(world, ada, 'shared@mail.example')
  const grace = await newOwner(world, 'grace')
  const first = await grace.post(`${EMAIL}/addresses`, { address: 'shared@mail.example' })
  const other = await grace.post(`${EMAIL}/addresses`, { address: 'free@mail.example' })
  const shape = ({ status, text }: Answer) => [status, Object.keys(JSON.parse(text))]
  assert.deepEqual(shape(first), shape(other))
  const stranger = await newOwner(world, 'joan')
  const { addresses } = await settingsOf(grace)
  assertRefused(
    await stranger.send('DELETE', `${EMAIL}/addresses/${addresses[0]?.id}`),
    404,
    'NOT_FOUND',
  )

  // Five verification e-mails an hour for an owner, even if addresses are removed in between.
  const removeAll = async (owner: SignedInOwner) => {
    for (const { id } of (await settingsOf(owner)).addresses)
      assert.equal((await owner.send('DELETE', `${EMAIL}/addresses/${id}`)).status, 204)
  }
  let refused: Answer | null = null
  for (let i = 0; i < 6; i++) {
    await removeAll(stranger)
    const answer = await stranger.post(`${EMAIL}/addresses`, { address: `joan${i}@mail.example` })
    if (answer.status !== 201) refused = answer
  }
  assert.ok(refused !== null)
  assertRefused(refused, 400, 'VALIDATION_ERROR', /Too many/)
  // Five a day for an address, from all owners together; further requests get the same response.
  for (let i = 0; i < 6; i++) {
    const owner = await newOwner(world, `crowd-${i}`)
    const answer = await owner.post(`${EMAIL}/addresses`, { address: 'victim@mail.example' })
    assert.deepEqual(shape(answer), shape(other))
  }
  await lastEmailTo(world, 'victim@mail.example', 5)
  const last = await newOwner(world, 'last')
  await addVerified(world, last, 'last@mail.example')
  assert.equal(smtp.received.filter(({ to }) => to.includes('victim@mail.example')).length, 5)
  assert.equal(clock.ahead, 0)
})

test('notifications and their e-mails name an agent as its owner does now', async (t) => {
  const world = await startWorld(t)
  const { service } = world
  const owner = await newOwner(world, 'ada')
  await addVerified(world, owner, 'ada@mail.example')
  const did = await claimAgent(service, owner.ownerId, undefined, 'label-of-the-claim')
  const path = `/api/account/agents/${did}`
  const rename = (displayName: string) => owner.send('PATCH', path, { displayName })
  assert.equal((await rename('Travel assistant')).status, 200)
  assert.equal((await owner.post(`${path}/suspend`, {})).status, 200)
  const email = await lastEmailTo(world, 'ada@mail.example', 3)
  const text = plainTextOf(email)
  assert.match(text, /“Travel assistant”: suspended by its owner\./)
  assert.doesNotMatch(text, /label-of-the-claim/)
  assert.equal((await rename('Flights')).status, 200)
  const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
  assert.ok(notifications.some(({ title }) => title === '“Flights”: suspended by its owner'))
})

test('an e-mail says what the dashboard says, links only to the service, and cannot be forged by a name', async (t) => {
  const world = await startWorld(t)
  const { service } = world
  const owner = await newOwner(world, 'ada')
  await addVerified(world, owner, 'ada@mail.example')
  const label = '” revoked by evil.example/x <b>\u202eme</b> https://evil.example mail@evil.example'
  const did = await claimAgent(service, owner.ownerId, undefined, label)
  const revoked = await owner.post(`/api/account/agents/${did}/revoke`, {})
  assert.equal(revoked.status, 200, revoked.text)
  const email = await lastEmailTo(world, 'ada@mail.example', 3)
  const headers = headersOf(email)
  assert.equal(email.from, 'noreply@issuer.example')
  assert.equal(headers.get('subject'), 'An agent: revoked by its owner')
  assert.equal(headers.get('from'), 'Countersign <noreply@issuer.example>')
  assert.match(headers.get('message-id') ?? '', /^<[\w.-]+@localhost>$/)
  assert.equal(headers.get('list-unsubscribe'), undefined, 'security')
  const text = plainTextOf(email)
  assert.ok(text.includes(did))
  assert.doesNotMatch(text, /evil\.example|mail@evil|\u202e/)
  for (const [address] of text.matchAll(/https?:\/\/[^\s/]+/g)) assert.equal(address, service.url)
  const html = email.raw.slice(email.raw.indexOf('text/html'))
  assert.doesNotMatch(html, /<b>|<img|<script/i)
  assert.ok(html.includes('&lt;b&gt;'))

  const { notifications, unread } = jsonOf<Notifications>(
    await owner.get('/api/account/notifications'),
  )
  const [newest] = notifications
  assert.deepEqual([newest?.kind, newest?.title], ['agent_revoked', headers.get('subject')])
  assert.ok(text.replaceAll(/\s+/g, ' ').includes((newest?.text ?? '?').replaceAll(/\s+/g, ' ')))
  assert.equal(unread, 3)
  assert.equal(
    (await owner.post('/api/account/notifications/read', { ids: [newest?.id] })).status,
    204,
  )
  const stranger = await newOwner(world, 'grace')
  assert.equal((await stranger.post('/api/account/notifications/read')).status, 204)
  assert.equal(
    jsonOf<Notifications>(await owner.get('/api/account/notifications')).unread,
    2,
    'only their own',
  )
  assert.equal((await owner.post('/api/account/notifications/read')).status, 204)
  assert.equal(jsonOf<Notifications>(await owner.get('/api/account/notifications')).unread, 0)
})

test('one click unsubscribes from a kind that is not about security, without a sign-in and not by following the link', async (t) => {
  const world = await startWorld(t)
  const { service, clock } = world
  const { db } = service.operator
  const owner = await newOwner(world, 'ada')
  await addVerified(world, owner, 'ada@mail.example')
  const expireIn = async (days: number) => {
    const now = Date.now() + clock.ahead
    await db.write((tx) =>
      tx.db
        .updateTable('identity_verifications')
        .set({ verified_at: now - 300 * DAY_MS, expires_at: now + days * DAY_MS })
        .execute(),
    )
    clock.ahead += 61_000
  }
  await expireIn(29.9)
  const email = await lastEmailTo(world, 'ada@mail.example', 3)
  const headers = headersOf(email)
  assert.equal(headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
  const link = linkIn(headers.get('list-unsubscribe')?.slice(1, -1) ?? '', '/email/unsubscribe')
  const isOn = async (kind: string) =>
    (await settingsOf(owner)).preferences.find((each) => each.kind === kind)?.enabled
  assert.equal((await ask(service, link)).status, 200)
  assert.equal(await isOn('verification_expiring'), true, 'GET changes nothing')
  // Another kind with the same tag, and a security kind.
  const forged = link.replace('verification_expiring', 'channel_expiring')
  assert.equal((await submit(service, forged)).status, 404)
  const form = {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
  }
  for (let i = 0; i < 2; i++) assert.equal((await ask(service, link, form)).status, 200)
  assert.equal(await isOn('verification_expiring'), false)
  assert.equal(await isOn('channel_expiring'), true)
  await expireIn(6.9)
  await untilTicked(service, async () => {
    const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
    return notifications.filter(({ kind }) => kind === 'verification_expiring').length === 2
  })
  await signIn(service, owner.ownerId, Date.now() + clock.ahead)
  const next = await lastEmailTo(world, 'ada@mail.example', 4)
  assert.equal(headersOf(next).get('subject'), 'New sign-in to your account')
})

test('e-mail about security is turned off only after a recent sign-in, and a removed address is told', async (t) => {
  const world = await startWorld(t)
  const { service } = world
  const owner = await newOwner(world, 'ada')
  await addVerified(world, owner, 'ada@mail.example')
  const old = await signIn(service, owner.ownerId, Date.now() - 3_600_000)
  await lastEmailTo(world, 'ada@mail.example', 3)
  const set = (who: SignedInOwner, kind: string, enabled: boolean) =>
    who.send('PATCH', `${EMAIL}/preferences`, { kind, enabled })
  assertRefused(await set(old, 'new_sign_in', false), 403, 'RECENT_SIGN_IN_REQUIRED')
  assert.equal((await set(old, 'channel_lost', false)).status, 200)
  assertRefused(await set(owner, 'no_such_kind', false), 400, 'VALIDATION_ERROR')
  assert.equal((await set(owner, 'new_sign_in', false)).status, 200)
  await signIn(service, owner.ownerId)
  const { id } = (await settingsOf(owner)).addresses[0] ?? { id: '' }
  assertRefused(
    await old.send('DELETE', `${EMAIL}/addresses/${id}`),
    403,
    'RECENT_SIGN_IN_REQUIRED',
  )
  assert.equal((await owner.send('DELETE', `${EMAIL}/addresses/${id}`)).status, 204)
  const farewell = await lastEmailTo(world, 'ada@mail.example', 4)
  assert.match(headersOf(farewell).get('subject') ?? '', /mail\.example was removed/)
  assert.deepEqual((await settingsOf(owner)).addresses, [])
})

test('the export has notifications and addresses, and deletion erases them with what was still to be sent', async (t) => {
  const world = await startWorld(t)
  const { service, smtp } = world
  const owner = await newOwner(world, 'ada')
  await addVerified(world, owner, 'ada@mail.example')
  await owner.send('PATCH', `${EMAIL}/preferences`, { kind: 'channel_lost', enabled: false })
  const all = jsonOf<AccountExport>(await owner.get('/api/account/export'))
  assert.deepEqual(
    all.emailAddresses.map(({ address }) => address),
    ['ada@mail.example'],
  )
  assert.deepEqual(all.emailPreferences, [{ kind: 'channel_lost', enabled: false }])
  assert.deepEqual(
    all.notifications.map(({ kind }) => kind),
    ['email_address_added', 'new_sign_in'],
  )
  smtp.behaviour = 'busy'
  await signIn(service, owner.ownerId)
  assert.equal((await owner.post('/api/account/deletion', { username: 'ada' })).status, 200)
  const { read } = service.operator.db
  for (const table of [
    'notifications',
    'email_addresses',
    'email_preferences',
    'email_outbox',
  ] as const)
    assert.deepEqual(await read.selectFrom(table).selectAll().execute(), [], table)
})

test('a bulk change of agents is one e-mail', async (t) => {
  const world = await startWorld(t)
  const { service } = world
  const owner = await newOwner(world, 'ada')
  await addVerified(world, owner, 'ada@mail.example')
  const agents: string[] = []
  for (let i = 0; i < 4; i++)
    agents.push(await claimAgent(service, owner.ownerId, newKey(), `n${i}`))
  const body = { agents, status: 'revoked', reason: 'retired' }
  assert.equal((await owner.post('/api/account/agents/status', body)).status, 200)
  // The third after the link and its confirmation: `lastEmailTo` asserts that there are no more.
  const email = await lastEmailTo(world, 'ada@mail.example', 3)
  assert.equal(headersOf(email).get('subject'), '4 agents: revoked by their owner')
  // The mail server has it before its row is deleted.
  const { read } = service.operator.db
  await until(
    async () => (await read.selectFrom('email_outbox').select('id').execute()).length === 0,
  )
})
