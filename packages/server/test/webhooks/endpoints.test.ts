import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { AccountExport, CreatedApiKey, Webhooks } from '@countersign/protocol'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { type Cleanup, claimAgent } from '../../../../test/support/service.ts'
import {
  startWebhookService,
  WEBHOOKS,
  type WebhookService,
  type WithSecret,
  type World,
  webhookOf,
} from './support/webhook-world.ts'

const cleanups: (() => unknown)[] = []
const file: Cleanup = { after: (end) => cleanups.unshift(end) }
let hooks: WebhookService

/** Asserts which secrets verify the newest delivery: by standardwebhooks, which takes any signature of the header. */
function assertVerifiedBy({ receiver }: World, secrets: readonly (readonly [string, boolean])[]) {
  const { headers, body } = receiver.received.at(-1) ?? assert.fail('nothing was delivered')
  const text = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value)]),
  )
  for (const [i, [secret, verifies]] of secrets.entries()) {
    // The clock of the test is ahead of that of the library.
    const at = Number(text['webhook-timestamp'])
    const signed = `${text['webhook-id']}.${at}.${body}`
    const own = new StandardWebhook(secret).sign(
      text['webhook-id'] ?? '',
      new Date(at * 1000),
      body,
    )
    assert.equal(text['webhook-signature']?.split(' ').includes(own), verifies, `${i}: ${signed}`)
  }
}

suite('endpoints', () => {
  before(async () => {
    hooks = await startWebhookService(file)
  })
  after(async () => {
    for (const end of cleanups) await end()
  })

  test('URLs that the service may not send to are refused', async () => {
    const owner = await hooks.newOwner()
    const refusals: readonly (readonly [string, RegExp])[] = [
      ['not a url', /The URL is not valid/],
      ['http://example.com/hook', /must use https/],
      ['https://example.com:8443/hook', /port 443/],
      ['https://user:secret@example.com/hook', /user name or a password/],
      ['https://169.254.169.254/latest', /not the name of a host/],
      ['https://[::1]/hook', /not the name of a host/],
      ['https://2130706433/hook', /not the name of a host/],
      ['https://localhost/hook', /not the name of a host/],
      ['ftp://example.com/', /must use https/],
      [`http://localhost/${'a'.repeat(1100)}`, /url must/],
    ]
    for (const [url, message] of refusals) {
      assertRefused(await owner.post(WEBHOOKS, { url }), 400, 'VALIDATION_ERROR', message)
    }
    const { receiver, path, owner: other } = await hooks.newWorld()
    assertRefused(
      await other.send('PATCH', path, { url: 'https://10.0.0.1/' }),
      400,
      'VALIDATION_ERROR',
    )
    assertRefused(
      await other.post(WEBHOOKS, { url: receiver.url, eventTypes: ['agent.updated'] }),
      400,
      'VALIDATION_ERROR',
    )
    assertRefused(
      await other.post(WEBHOOKS, { url: receiver.url, eventTypes: [] }),
      400,
      'VALIDATION_ERROR',
    )
  })

  test('endpoints belong to their owner, who can have ten, also by an API key, and export and delete them', async () => {
    const world = await hooks.newWorld()
    const { owner, receiver, webhook, path } = world
    const mallory = await hooks.newOwner()
    assert.deepEqual(jsonOf<Webhooks>(await mallory.get(WEBHOOKS)).webhooks, [])
    for (const refused of [
      await mallory.send('PATCH', path, { state: 'paused' }),
      await mallory.send('DELETE', path),
      await mallory.get(`${path}/deliveries`),
      await mallory.post(`${path}/test`),
    ]) {
      assertRefused(refused, 404, 'NOT_FOUND')
    }
    for (let i = 1; i < 10; i++) {
      assert.equal((await owner.post(WEBHOOKS, { url: receiver.url })).status, 201)
    }
    assertRefused(await owner.post(WEBHOOKS, { url: receiver.url }), 409, 'CONFLICT')

    const scopes = ['webhooks:read']
    const key = jsonOf<CreatedApiKey>(
      await owner.post('/api/account/api-keys', { name: 'CI', scopes }),
    )
    const headers = { authorization: `Bearer ${key.secret}` }
    const listed = jsonOf<Webhooks>(await ask(hooks.service, WEBHOOKS, { headers }))
    assert.equal(listed.webhooks.length, 10)
    assert.equal(listed.publicKey, webhook.publicKey)
    assert.ok(!JSON.stringify(listed).includes('whsec_'))
    assertRefused(await ask(hooks.service, path, { method: 'DELETE', headers }), 403, 'FORBIDDEN')

    await owner.post(`${path}/test`)
    const account = jsonOf<AccountExport>(await owner.get('/api/account/export'))
    const exported = account.webhooks.find(({ id }) => id === webhook.id)
    assert.equal(exported?.deliveries.length, 1)
    assert.ok(!JSON.stringify(account).includes('whsec_'))

    assert.equal((await owner.send('DELETE', path)).status, 204)
    assertRefused(await owner.get(`${path}/deliveries`), 404, 'NOT_FOUND')
    const { username } = account.owner
    const deletion = await owner.post('/api/account/deletion', { username })
    assert.equal(deletion.status, 200, deletion.text)
    const { read } = hooks.service.operator.db
    for (const table of ['webhook_endpoints', 'webhook_deliveries'] as const) {
      const rows = await read.selectFrom(table).selectAll().execute()
      assert.ok(
        rows.every((row) => !('owner_id' in row) || row.owner_id !== owner.ownerId),
        table,
      )
    }
  })

  // The last test, because it moves the clock on.
  test('after a rotation of the secret, both secrets sign for a day, then the new one; 0 hours end the old one at once', async () => {
    const world = await hooks.newWorld()
    const { owner, receiver, webhook, path } = world
    const sendTest = async () => assert.equal((await owner.post(`${path}/test`)).status, 200)
    const rotate = async (body: object = {}) => {
      const answer = await owner.post(`${path}/rotate-secret`, body)
      assert.equal(answer.status, 200, answer.text)
      return jsonOf<WithSecret>(answer)
    }
    await sendTest()
    const before = receiver.received.at(-1)
    assert.ok(before)
    assert.equal(String(before.headers['webhook-signature']).split(' ').length, 2)

    const second = await rotate()
    assert.equal(second.id, webhook.id)
    assert.notEqual(second.secret, webhook.secret)
    const days =
      (Date.parse(second.previousSecretUntil ?? '') - Date.parse(second.createdAt)) / 864e5
    assert.equal(days, 1)
    assert.equal((await webhookOf(world)).previousSecretUntil, second.previousSecretUntil)
    await sendTest()
    const signatures = String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ')
    assert.deepEqual(
      signatures.map((each) => each.split(',')[0]),
      ['v1', 'v1', 'v1a'],
    )
    assertVerifiedBy(world, [
      [webhook.secret, true],
      [second.secret, true],
    ])
    // Events too, not only tests.
    await claimAgent(hooks.service, owner.ownerId)
    await hooks.untilReceived(world, 3)
    assertVerifiedBy(world, [
      [webhook.secret, true],
      [second.secret, true],
    ])

    const third = await rotate({ overlapHours: 1 })
    await sendTest()
    assertVerifiedBy(world, [
      [webhook.secret, false],
      [second.secret, true],
      [third.secret, true],
    ])
    hooks.clock.ahead += 3_600_001
    await sendTest()
    assertVerifiedBy(world, [
      [second.secret, false],
      [third.secret, true],
    ])
    assert.equal((await webhookOf(world)).previousSecretUntil, null)

    const fourth = await rotate({ overlapHours: 0 })
    assert.equal(fourth.previousSecretUntil, null)
    await sendTest()
    assertVerifiedBy(world, [
      [third.secret, false],
      [fourth.secret, true],
    ])

    assertRefused(
      await owner.post(`${path}/rotate-secret`, { overlapHours: 169 }),
      400,
      'VALIDATION_ERROR',
    )
    const stranger = await hooks.newOwner()
    assertRefused(await stranger.post(`${path}/rotate-secret`, {}), 404, 'NOT_FOUND')
    assert.equal((await webhookOf(world)).previousSecretUntil, null)
    const stored = await textOfTables(hooks.service.settings)
    for (const { secret } of [second, third, fourth]) assert.ok(!stored.includes(secret.slice(6)))
  })
})
