import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { plainTextOf, startSmtpServer } from '../../../../../test/support/smtp-server.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'

test('e-mails of an organisation go to its addresses, managers, admins and the responsible person, as each of them wants', async (t) => {
  const smtp = await startSmtpServer(t)
  const env = { SMTP_URL: smtp.url, MAIL_FROM: 'noreply@issuer.example' }
  const service = await startTestService(t, env)
  const { db } = service.operator
  const organisation = await createOrganisation(service)
  const { admin } = organisation
  await organisation.verify()
  const members = {
    manager: await organisation.addMember('manager', 'manager'),
    silent: await organisation.addMember('silent', 'manager'),
    leaver: await organisation.addMember('leaver', 'manager'),
    responder: await organisation.addMember('responder', 'responder'),
    viewer: await organisation.addMember('viewer', 'viewer'),
  }
  const owners = { organisation: organisation.id, admin: admin.ownerId }
  const persons = Object.entries(members).map(([name, { ownerId }]) => [name, ownerId] as const)
  await db.write(async (tx) => {
    for (const [name, owner_id] of [...Object.entries(owners), ...persons]) {
      await tx.db
        .insertInto('email_addresses')
        .values({
          id: name,
          owner_id,
          address: `${name}@mail.example`,
          added_at: 1,
          verified_at: name === 'unverified' ? null : 1,
          token_hash: null,
          token_expires_at: null,
        })
        .execute()
    }
    for (const kind of ['api_key_created', 'agent_suspended']) {
      const choice = { owner_id: members.silent.ownerId, kind, enabled: 0 } as const
      await tx.db.insertInto('email_preferences').values(choice).execute()
    }
  })
  const did = await claimAgent(service, organisation.id, newKey())
  const responsible = { responsible: members.viewer.membership }
  await db.write((tx) =>
    tx.db.updateTable('agents').set(responsible).where('tail', '=', did.slice(-24)).execute(),
  )
  const expectTo = async (names: readonly string[], about: RegExp) => {
    const sent = () => smtp.received.filter((email) => about.test(plainTextOf(email)))
    await untilTicked(service, async () => sent().length >= names.length)
    const to = sent().flatMap((email) => email.to)
    assert.deepEqual(to.toSorted(), names.map((name) => `${name}@mail.example`).toSorted())
    for (const email of sent()) {
      assert.match(plainTextOf(email), /\/dashboard\/o\/acme\//)
    }
  }

  const key = { name: 'CI', scopes: ['agents:read'], expiresInDays: 30 }
  const created = await admin.post('/api/account/api-keys', key)
  assert.equal(created.status, 201, created.text)
  await expectTo(['organisation', 'admin', 'manager', 'leaver'], /API key/)

  // Queued for the leaver too, who has left when it is sent.
  await db.write((tx) => endMembership(tx, members.leaver.membership, 'removed', Date.now()))
  await setStatus(service, did, 'suspended')
  await expectTo(['organisation', 'admin', 'manager', 'viewer'], /suspended/)
  const read = await admin.get('/api/account/notifications')
  assert.ok(read.text.includes('suspended'), 'one inbox for all members')
})
