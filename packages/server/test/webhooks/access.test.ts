import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type {
  AccountExport,
  Activity,
  CreatedApiKey,
  CreatedWebhook,
  Notifications,
  Webhook,
  Webhooks,
} from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import type { Cleanup } from '../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../test/support/signed-in.ts'
import { startWebhookService, WEBHOOKS, type WebhookService } from './support/webhook-world.ts'

const KEYS = '/api/account/api-keys'
const MINUTES_11 = 11 * 60_000

const cleanups: (() => unknown)[] = []
const file: Cleanup = { after: (end) => cleanups.unshift(end) }
let hooks: WebhookService

async function newKey(owner: SignedInOwner): Promise<CreatedApiKey> {
  const body = { name: 'CI', scopes: ['webhooks:write', 'grants:write'] }
  const answer = await owner.post(KEYS, body)
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<CreatedApiKey>(answer)
}

function withKey({ secret }: CreatedApiKey, method: string, path: string, body: unknown) {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  return ask(hooks.service, path, { method, headers, body: JSON.stringify(body) })
}

async function webhooksOf(owner: SignedInOwner): Promise<readonly Webhook[]> {
  return jsonOf<Webhooks>(await owner.get(WEBHOOKS)).webhooks
}

/** What the owner was notified of, and the activities of it, newest first. */
async function accessOf(owner: SignedInOwner) {
  const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
  const { events } = jsonOf<Activity>(await owner.get('/api/account/activity?kind=owner'))
  return {
    notifications: notifications.filter(({ kind }) => kind === 'access_changed'),
    activities: events
      .filter(({ type }) => /^owner\.(webhook|grant)/.test(type))
      .map(({ type, facts }) => ({ type, ...facts })),
  }
}

suite('access that outlasts a session or an API key', () => {
  before(async () => {
    hooks = await startWebhookService(file)
  })
  after(async () => {
    for (const end of cleanups) await end()
  })

  test('needs a recent sign-in, or an API key with the scope', async () => {
    const { owner, receiver, path } = await hooks.newWorld()
    const key = await newKey(owner)
    const url = `${receiver.url}/moved`
    const earlier = await signIn(hooks.service, owner.ownerId, Date.now() - MINUTES_11)
    for (const refused of [
      await earlier.post(WEBHOOKS, { url }),
      await earlier.send('PATCH', path, { url }),
      await earlier.send('PATCH', path, { url, state: 'paused' }),
      await earlier.post('/api/account/grant-issuers', { name: 'Shop' }),
    ]) {
      assertRefused(refused, 403, 'RECENT_SIGN_IN_REQUIRED')
    }
    assert.deepEqual(
      (await webhooksOf(owner)).map((each) => [each.url, each.state]),
      [[receiver.url, 'active']],
    )
    assert.equal((await earlier.send('PATCH', path, { state: 'paused' })).status, 200)
    assert.equal((await earlier.send('PATCH', path, { eventTypes: null })).status, 200)
    assert.equal((await withKey(key, 'PATCH', path, { url })).status, 200)
    assert.equal((await withKey(key, 'POST', WEBHOOKS, { url })).status, 201)
    const issuer = await withKey(key, 'POST', '/api/account/grant-issuers', { name: 'Shop' })
    assert.equal(issuer.status, 201)
  })

  test('is notified of, and listed among the activities', async () => {
    const { owner, receiver, path, webhook } = await hooks.newWorld()
    const key = await newKey(owner)
    const { host } = new URL(receiver.url)
    const moved = { url: `${receiver.url}/moved` }
    assert.equal((await withKey(key, 'PATCH', path, moved)).status, 200)
    // The same URL, and anything else: no new access.
    assert.equal((await owner.send('PATCH', path, { ...moved, state: 'paused' })).status, 200)
    await owner.post('/api/account/grant-issuers', { name: 'Shop' })

    const { notifications, activities } = await accessOf(owner)
    assert.deepEqual(
      activities.map(({ grantIssuer: _random, ...facts }: Record<string, unknown>) => facts),
      [
        { type: 'owner.grant_issuer_created', name: 'Shop' },
        { type: 'owner.webhook_changed', webhook: webhook.id, host, apiKey: key.id },
        { type: 'owner.webhook_created', webhook: webhook.id, host },
      ],
    )
    const page = `/dashboard/webhooks/${webhook.id}`
    assert.deepEqual(
      notifications.map(({ title, link, security }) => [title, link, security]).sort(),
      [
        ['A grant issuer was created for your account', '/dashboard/grant-issuers', true],
        [`A webhook endpoint at ${host} was added to your account`, page, true],
        [`A webhook endpoint of yours was moved to ${host}`, page, true],
      ],
    )
    for (const { title, text } of notifications) {
      assert.equal(/ An API key did this\./.test(text), title.includes('moved'), text)
      assert.match(
        text,
        /If this was not you.*API keys, webhooks and grant issuers that you do not/,
      )
    }
    const exported = jsonOf<AccountExport>(await owner.get('/api/account/export'))
    assert.equal(exported.webhooks[0]?.createdByKey, key.id)
  })

  test('ends with the API key that created it, if its owner wishes', async () => {
    const { owner, receiver, webhook } = await hooks.newWorld()
    const [key, other] = [await newKey(owner), await newKey(owner)]
    const create = async (by: CreatedApiKey) =>
      jsonOf<CreatedWebhook>(await withKey(by, 'POST', WEBHOOKS, { url: receiver.url })).id
    const [created, moved, taken, kept] = [
      await create(key),
      webhook.id,
      await create(key),
      await create(other),
    ]
    const pathOf = (id: string) => `${WEBHOOKS}/${id}`
    await withKey(key, 'PATCH', pathOf(moved), { url: `${receiver.url}/a` })
    await owner.send('PATCH', pathOf(taken), { url: `${receiver.url}/b` })
    const states = async () =>
      Object.fromEntries(
        (await webhooksOf(owner)).map(({ id, state, disabledReason, createdByKey }) => [
          id,
          [state, disabledReason, createdByKey],
        ]),
      )
    const before = {
      [created]: ['active', null, key.id],
      [moved]: ['active', null, key.id],
      [taken]: ['active', null, null],
      [kept]: ['active', null, other.id],
    }
    assert.deepEqual(await states(), before)

    const mallory = await hooks.newOwner()
    const stranger = await mallory.send('DELETE', `${KEYS}/${key.id}?disableWebhooks=true`)
    assertRefused(stranger, 404, 'NOT_FOUND')
    assertRefused(
      await owner.send('DELETE', `${KEYS}/${key.id}?disableWebhooks=yes`),
      400,
      'VALIDATION_ERROR',
    )
    assert.deepEqual(await states(), before)

    assert.equal((await owner.send('DELETE', `${KEYS}/${other.id}`)).status, 204)
    assert.equal((await owner.send('DELETE', `${KEYS}/${key.id}?disableWebhooks=true`)).status, 204)
    assert.deepEqual(await states(), {
      ...before,
      [created]: ['disabled', 'key_revoked', key.id],
      [moved]: ['disabled', 'key_revoked', key.id],
    })
  })
})
