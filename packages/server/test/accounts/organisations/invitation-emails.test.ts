import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EmailSettings } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import {
  createOrganisation,
  type TestOrganisation,
} from '../../../../../test/support/organisations.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import {
  headersOf,
  plainTextOf,
  type ReceivedEmail,
  type SmtpServer,
  startSmtpServer,
} from '../../../../../test/support/smtp-server.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { insertAddress } from '../../../src/accounts/notifications/email-address-table.ts'
import { INVITATIONS, invite, notificationsOf } from './with-members.ts'

const GRACE = 'grace@mail.example'

interface World {
  readonly service: TestService
  readonly smtp: SmtpServer
  readonly acme: TestOrganisation
}

async function startWorld(t: TestContext): Promise<World> {
  const smtp = await startSmtpServer(t)
  const env = { SMTP_URL: smtp.url, MAIL_FROM: 'noreply@issuer.example' }
  const service = await startTestService(t, env)
  const acme = await createOrganisation(service)
  await acme.verify()
  return { service, smtp, acme }
}

/** All e-mails, once so many have been sent and nothing is left to do. */
async function emails({ service, smtp }: World, count: number): Promise<ReceivedEmail[]> {
  await untilTicked(service, async () => {
    const { db } = service.operator
    // A job queues e-mails as it ends: the jobs first.
    const jobs = await db.read
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', 'offer-invitation')
      .execute()
    const queued = await db.read.selectFrom('email_outbox').select('id').execute()
    return queued.length + jobs.length === 0
  })
  assert.equal(smtp.received.length, count)
  return smtp.received
}

/** A person with a verified address. */
async function withAddress({ service }: World, username: string) {
  const person = await signIn(service, await service.operator.addVerifiedOwner(username))
  const at = Date.now()
  const row = {
    id: `${username}-address`.padEnd(16, '-'),
    owner_id: person.ownerId,
    address: GRACE,
  }
  await service.operator.db.write((tx) =>
    insertAddress(tx, {
      ...row,
      added_at: at,
      verified_at: at,
      token_hash: null,
      token_expires_at: null,
    }),
  )
  return person
}

test('an address without an account gets an e-mail without a token, in which names are quoted', async (t) => {
  const world = await startWorld(t)
  const { acme, service } = world
  const named = await acme.admin.send('PATCH', '/api/account', {
    displayName: 'Big Bank https://bank.example/login',
  })
  assert.equal(named.status, 200, named.text)
  await invite(acme.admin, { email: GRACE }, 'manager')
  const [email] = (await emails(world, 1)) as [ReceivedEmail]
  assert.deepEqual(email.to, [GRACE])
  const text = plainTextOf(email)
  assert.match(
    text.replaceAll(/\s+/g, ' '),
    /“Owner acme-admin” invites you to the organisation “Big Bank https bank·example login” \(@acme\)/,
  )
  assert.match(text, /has proven no domain/)
  assert.match(headersOf(email).get('subject') ?? '', /^Invitation to an organisation on /)
  const links = [...email.raw.replaceAll('=\r\n', '').matchAll(/https?:\/\/[^\s"<>]+/g)].map(
    ([link]) => link,
  )
  const origin = service.settings.baseUrl.origin
  assert.deepEqual([...new Set(links)], [`${origin}/dashboard/invitations`, origin])
})

test('the e-mail names the domain that the organisation has proven', async (t) => {
  const world = await startWorld(t)
  const { acme, service } = world
  await service.operator.db.write((tx) =>
    tx.db
      .updateTable('identity_verifications')
      .set({ provider: 'organisation-domain', published_name: 'acme.example' })
      .where('owner_id', '=', acme.id)
      .execute(),
  )
  await invite(acme.admin, { email: GRACE }, 'manager')
  const [email] = (await emails(world, 1)) as [ReceivedEmail]
  assert.match(plainTextOf(email).replaceAll(/\s+/g, ' '), /controls the domain acme\.example/)
})

test('an account with the address gets one e-mail and a notification, and can stop such e-mails', async (t) => {
  const world = await startWorld(t)
  const grace = await withAddress(world, 'grace')
  await invite(world.acme.admin, { email: 'Grace@Mail.Example' }, 'manager')
  const [email] = (await emails(world, 1)) as [ReceivedEmail]
  assert.equal((await notificationsOf(grace, 'invitation')).length, 1)
  const unsubscribe = headersOf(email).get('list-unsubscribe')?.replaceAll(/[<>]/g, '') as string
  const { pathname, search } = new URL(unsubscribe)
  const stopped = await ask(world.service, pathname + search, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  })
  assert.equal(stopped.status, 200, stopped.text)
  const { preferences } = jsonOf<EmailSettings>(await grace.get('/api/account/email'))
  assert.equal(preferences.find(({ kind }) => kind === 'invitation')?.enabled, false)
  await invite(world.acme.admin, { email: GRACE }, 'viewer')
  await emails(world, 1)
  assert.equal((await notificationsOf(grace, 'invitation')).length, 2)
})

test('an address gets 5 invitations a day from all organisations together, silently', async (t) => {
  const world = await startWorld(t)
  for (let i = 0; i < 7; i++) {
    await invite(world.acme.admin, { email: GRACE }, 'viewer')
    await emails(world, Math.min(i + 1, 5))
  }
})

test('an invitation that has ended is not sent, and none is an undeliverable address of the organisation', async (t) => {
  const world = await startWorld(t)
  const { acme, smtp } = world
  smtp.behaviour = 'busy'
  const id = await invite(acme.admin, { email: GRACE }, 'viewer')
  const { db } = world.service.operator
  await untilTicked(world.service, async () => {
    const queued = await db.read.selectFrom('email_outbox').select('attempts').execute()
    return queued[0]?.attempts === 1
  })
  assert.equal((await acme.admin.send('DELETE', `${INVITATIONS}/${id}`)).status, 204)
  smtp.behaviour = 'accept'
  await db.write((tx) => tx.db.updateTable('email_outbox').set({ due_at: 0 }).execute())
  await emails(world, 0)
  smtp.behaviour = 'reject-recipient'
  await invite(acme.admin, { email: GRACE }, 'viewer')
  await emails(world, 0)
  assert.deepEqual(await notificationsOf(acme.admin, 'email_undeliverable'), [])
})
