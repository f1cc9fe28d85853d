import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type Operator, openOperator, testEnv } from '../../../../../test/support/service.ts'
import {
  headersOf,
  type SmtpServer,
  startSmtpServer,
} from '../../../../../test/support/smtp-server.ts'
import { until } from '../../../../../test/support/until.ts'
import { appendNotification } from '../../../src/accounts/notifications/notify-owner.ts'
import { DueEmails, type EmailDeps } from '../../../src/accounts/notifications/send-due-emails.ts'
import { smtpMailer } from '../../../src/accounts/notifications/smtp-mailer.ts'
import { readSettings } from '../../../src/base/config.ts'
import { siteOf } from '../../../src/base/site.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'

interface World {
  readonly clock: { ahead: number }
  readonly smtp: SmtpServer
  readonly operator: Operator
  readonly ownerId: number
  readonly errors: string[]
  /** Another node or worker. */
  node(): DueEmails
  notify(subject: string): Promise<unknown>
}

async function startWorld(t: TestContext): Promise<World> {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const smtp = await startSmtpServer(t)
  const env = await testEnv(t, { SMTP_URL: smtp.url, MAIL_FROM: 'noreply@issuer.example' })
  const settings = readSettings(env)
  const operator = await openOperator(settings, now)
  const ownerId = await operator.addVerifiedOwner('ada')
  const { db } = operator
  await db.write((tx) =>
    tx.db
      .insertInto('email_addresses')
      .values({
        id: 'a'.repeat(16),
        owner_id: ownerId,
        address: 'ada@mail.example',
        added_at: now(),
        verified_at: now(),
        token_hash: null,
        token_expires_at: null,
      })
      .execute(),
  )
  assert.ok(settings.mail?.kind === 'smtp')
  const deps: EmailDeps = {
    db,
    now,
    randomBytes,
    site: siteOf(settings.naming, settings.baseUrl),
    serviceName: settings.serviceName,
    pepper: loadPepper(settings),
    mailer: smtpMailer(settings.mail, settings.serviceName),
  }
  const errors: string[] = []
  const nodes: DueEmails[] = []
  t.after(async () => {
    for (const node of nodes) await node.stop()
    await operator.close()
  })
  return {
    clock,
    smtp,
    operator,
    ownerId,
    errors,
    node() {
      const node = new DueEmails(deps, (error) => errors.push(String(error)))
      nodes.push(node)
      return node
    },
    notify: (subject) =>
      db.write((tx) =>
        appendNotification(tx, {
          ownerId,
          kind: 'account_suspended',
          subject,
          details: { reason: null },
          at: now(),
        }),
      ),
  }
}

const MINUTE_MS = 60_000

/** Runs nodes until the outbox has so many e-mails left, which nobody is sending. */
async function untilLeft({ operator }: World, nodes: readonly DueEmails[], left: number) {
  await until(async () => {
    for (const node of nodes) void node.run()
    const rows = await operator.db.read.selectFrom('email_outbox').selectAll().execute()
    return rows.length === left && rows.every((row) => row.leased_by === null)
  })
}

async function kindsOf({ operator }: World): Promise<string[]> {
  const rows = await operator.db.read
    .selectFrom('notifications')
    .select('kind')
    .orderBy('created_at')
    .execute()
  return rows.map(({ kind }) => kind)
}

test('of several nodes, one sends each e-mail, and the same notification is sent once', async (t) => {
  const world = await startWorld(t)
  const nodes = [world.node(), world.node(), world.node()]
  for (let i = 0; i < 12; i++) await world.notify(`subject ${i % 6}`)
  await untilLeft(world, nodes, 0)
  const ids = world.smtp.received.map((each) => headersOf(each).get('message-id'))
  assert.equal(ids.length, 6)
  assert.equal(new Set(ids).size, 6)
})

test('an e-mail is tried again later, and given up after days, which the dashboard says', async (t) => {
  const world = await startWorld(t)
  const { smtp, clock, errors } = world
  const node = world.node()
  smtp.behaviour = 'busy'
  await world.notify('one')
  const attempts = async () => {
    const { read } = world.operator.db
    const rows = await read.selectFrom('email_outbox').select(['attempts', 'leased_by']).execute()
    return rows[0]?.leased_by === null ? rows[0].attempts : null
  }
  for (let i = 1; i <= 3; i++) {
    await until(async () => {
      await node.run()
      return (await attempts()) === i
    })
    clock.ahead += 2 ** i * MINUTE_MS
  }
  clock.ahead += 5 * 24 * 60 * MINUTE_MS
  await untilLeft(world, [node], 0)
  assert.deepEqual(await kindsOf(world), ['account_suspended', 'email_undeliverable'])
  assert.deepEqual(
    [...node.outcomes],
    [
      ['sent', 0],
      ['failed', 3],
      ['gave_up', 1],
      ['dropped', 0],
    ],
  )
  assert.match(errors.join(), /451/)
})

test('a rejected recipient is given up at once, and the log has no address', async (t) => {
  const world = await startWorld(t)
  world.smtp.behaviour = 'reject-recipient'
  await world.notify('one')
  await untilLeft(world, [world.node()], 0)
  assert.deepEqual(await kindsOf(world), ['account_suspended', 'email_undeliverable'])
  assert.match(world.errors.join(), /550/)
  assert.doesNotMatch(world.errors.join(), /ada|mail\.example/)
})

test('if nobody knows whether the server has an e-mail, it is sent once more with the same Message-ID', async (t) => {
  const world = await startWorld(t)
  const { smtp, clock } = world
  const node = world.node()
  smtp.behaviour = 'drop-after-data'
  await world.notify('one')
  await until(async () => {
    await node.run()
    const { read } = world.operator.db
    const rows = await read.selectFrom('email_outbox').select(['attempts', 'leased_by']).execute()
    return rows[0]?.attempts === 1 && rows[0].leased_by === null
  })
  clock.ahead += 10 * MINUTE_MS
  await untilLeft(world, [node], 0)
  const ids = smtp.received.map((each) => headersOf(each).get('message-id'))
  assert.equal(ids.length, 2)
  assert.equal(ids[0], ids[1])

  // A process that died while it sent: the lease times out, and the e-mail is sent again, but not a third time.
  smtp.behaviour = 'accept'
  await world.notify('two')
  const die = (interruptions: number) =>
    world.operator.db.write((tx) =>
      tx.db
        .updateTable('email_outbox')
        .set({ leased_by: 'dead', held_until: Date.now() + clock.ahead + MINUTE_MS, interruptions })
        .execute(),
    )
  await die(0)
  await node.run()
  assert.equal(smtp.received.length, 2, 'the lease is held')
  clock.ahead += 2 * MINUTE_MS
  await untilLeft(world, [node], 0)
  assert.equal(smtp.received.length, 3)
  await world.notify('three')
  await die(1)
  clock.ahead += 2 * MINUTE_MS
  await untilLeft(world, [node], 0)
  assert.equal(smtp.received.length, 3)
})

test('a server that says nothing holds no more than two attempts, and stopping ends them', async (t) => {
  const world = await startWorld(t)
  const { smtp } = world
  smtp.behaviour = 'silent'
  for (const subject of ['one', 'two', 'three', 'four']) await world.notify(subject)
  const node = world.node()
  await until(async () => {
    await node.run()
    return smtp.connections() === 2
  })
  await node.run()
  assert.equal(smtp.connections(), 2)
  // Other writes go on meanwhile.
  await world.operator.addVerifiedOwner('grace')
  await node.stop()
  const rows = await world.operator.db.read.selectFrom('email_outbox').selectAll().execute()
  assert.equal(rows.length, 4)
  assert.ok(rows.every(({ leased_by, interruptions }) => leased_by === null && interruptions === 0))
})
