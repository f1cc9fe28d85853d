import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountExport, Activity } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'
import { recordAccountActivity } from '../../../src/accounts/account-activity-table.ts'

const DAY_MS = 86_400_000

async function activity(visitor: Visitor, query = ''): Promise<Activity> {
  const answer = await visitor.get(`/api/account/activity${query}`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Activity>(answer)
}

test('the activity of an account has its sign-ins, ended sessions and sign-in methods', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const { recoveryCodes } = await ada.signUp('ada')
  const grace = new Visitor(service)
  await grace.signUp('grace')
  const ownerId = (
    await service.operator.db.read
      .selectFrom('owners')
      .select('id')
      .where('username', '=', 'ada')
      .executeTakeFirstOrThrow()
  ).id

  await t.test('with the method and the browser, among the events, newest first', async () => {
    await ada.addPasskey('Phone')
    await ada.post('/api/account/api-keys', { name: 'CI', scopes: ['agents:read'] })
    const [phone, laptop] = [new Visitor(service), new Visitor(service)]
    phone.headers['user-agent'] = `Phone/1 ${'x'.repeat(500)}`
    phone.authenticator.passkeys.push(...ada.authenticator.passkeys)
    assert.equal((await phone.signIn()).status, 200)
    const code = { username: 'ada', code: recoveryCodes[0] }
    assert.equal((await laptop.post('/api/sign-in/recovery-code', code)).status, 200)
    assert.equal((await phone.signIn({ userVerified: false })).status, 401)
    assert.equal((await ada.signIn()).status, 200)
    assert.equal((await ada.post('/api/account/recovery-codes')).status, 201)
    await ada.send('PATCH', '/api/account', { displayName: 'Ada' })
    assert.equal((await ada.send('DELETE', '/api/account/sessions')).status, 204)

    const { events, next } = await activity(ada)
    assert.equal(next, null)
    const browser = 'a visitor'
    const { id: _, ...key } = events[6]?.facts ?? {}
    assert.deepEqual(Object.keys(key).sort(), ['apiKey', 'expiresAt', 'scopes'])
    const [passkey] = (await ada.account()).passkeys.filter(({ name }) => name === 'Phone')
    assert.deepEqual(
      events.map(({ type, facts }, i) => [type, i === 1 || i === 6 ? null : facts]),
      [
        ['owner.sessions_ended', { count: 2 }],
        ['owner.updated', null],
        ['owner.sign_in_method_added', { method: 'recovery-codes' }],
        ['owner.sign_in_confirmed', { method: 'passkey', browser }],
        ['owner.signed_in', { method: 'recovery-code', browser }],
        ['owner.signed_in', { method: 'passkey', browser: `Phone/1 ${'x'.repeat(248)}` }],
        ['owner.api_key_created', null],
        ['owner.sign_in_method_added', { method: 'passkey', id: passkey?.id, name: 'Phone' }],
        ['owner.signed_up', { method: 'passkey', browser }],
      ],
    )
    assert.deepEqual(
      events.map(({ seq }) => seq !== null),
      [false, true, false, false, false, false, true, false, false],
    )
    assert.deepEqual(await activity(ada, '?kind=owner'), { events, next })
    assert.deepEqual((await activity(ada, '?kind=agent')).events, [])
    const theirs = (await activity(grace)).events.map(({ type }) => type)
    assert.deepEqual(theirs, ['owner.signed_up'])

    const exported = jsonOf<AccountExport>(await ada.get('/api/account/export'))
    assert.deepEqual(
      exported.activity,
      events.filter(({ seq }) => seq === null).map(({ at, type, facts }) => ({ at, type, facts })),
    )
  })

  await t.test('in pages, each once', async () => {
    for (let i = 0; i < 30; i++) {
      await service.operator.db.write((tx) =>
        recordAccountActivity(tx, {
          ownerId,
          type: 'owner.sessions_ended',
          details: { count: i },
          at: Date.now(),
        }),
      )
      if (i % 3 === 0) await ada.send('PATCH', '/api/account', { displayName: `Ada ${i}` })
    }
    const found: Activity['events'] = []
    const sizes: number[] = []
    for (let next: string | null = ''; next !== null; ) {
      const page: Activity = await activity(ada, next === '' ? '' : `?before=${next}`)
      found.push(...page.events)
      sizes.push(page.events.length)
      next = page.next
    }
    // 30 activities, 10 events, and the 9 from above: a page would have them all.
    assert.deepEqual(sizes, [49])
    assert.equal(new Set(found.map(({ id }) => id)).size, 49)
    for (const [i, { id }] of found.entries()) {
      const { events } = await activity(ada, `?before=${id}`)
      assert.deepEqual(events, found.slice(i + 1), `before ${id}`)
    }
  })

  await t.test('for 400 days, and no longer than the account', async () => {
    const old = { ownerId, type: 'owner.signed_in', details: { method: 'link' } } as const
    const { db } = service.operator
    for (const days of [399, 401]) {
      await db.write((tx) => recordAccountActivity(tx, { ...old, at: Date.now() - days * DAY_MS }))
    }
    const links = async () =>
      (await activity(ada)).events.filter(({ facts }) => facts.method === 'link').length
    assert.equal(await links(), 2)
    assert.equal((await grace.signIn()).status, 200)
    assert.equal(await links(), 1)

    const deletion = { username: 'ada' }
    assert.equal((await ada.post('/api/account/deletion', deletion)).status, 200)
    const left = await db.read.selectFrom('account_activity').select('owner_id').execute()
    assert.deepEqual(
      left.filter((each) => each.owner_id === ownerId),
      [],
    )
    assert.ok(left.length > 0, 'those of others stay')
  })
})
