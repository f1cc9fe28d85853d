import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { countersignd, startTestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'
import { providerAt, signed, startOidcServer } from '../identity/oidc-server.ts'
import { startWithProviders } from '../identity/with-providers.ts'

test('a session that ends while the provider responds links no account', async (t) => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const provider = await startOidcServer(t, {
    async sign(claims, { privateKey }) {
      asked.resolve()
      await answer.promise
      return signed(claims, privateKey)
    },
  })
  const service = await startWithProviders(t, [{ ...providerAt(provider.url), signIn: true }])
  const thief = new Visitor(service)
  await thief.signUp('ada')
  const ada = new Visitor(service)
  ada.authenticator.passkeys.push(...thief.authenticator.passkeys)
  await ada.signIn()
  const { redirect } = jsonOf<{ redirect: string }>(
    await thief.post('/api/account/sign-in-providers', { provider: 'test' }),
  )
  const back = provider.authorize(redirect)

  const coming = thief.get(back.pathname + back.search)
  await asked.promise
  assert.equal((await ada.send('DELETE', '/api/account/sessions')).status, 204)
  answer.resolve()

  const location = new URL((await coming).headers.get('location') as string, service.url)
  assert.equal(location.searchParams.get('failed'), 'test')
  assert.equal(location.searchParams.get('code'), 'signed-out')
  assert.deepEqual(
    (await ada.account()).signInProviders.map(({ linkedAt }) => linkedAt),
    [null],
  )
})

test('no sign-in method signs in to a deleted account', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const ada = new Visitor(service)
  await ada.signUp('ada')
  assert.equal((await ada.post('/api/account/deletion', { username: 'ada' })).status, 200)
  const { id, username } = await db.read
    .selectFrom('owners')
    .select(['id', 'username'])
    .executeTakeFirstOrThrow()
  const token = randomBytes(32).toString('base64url')
  // As written by a request that was in progress when the account was deleted.
  const row = {
    hash: createHash('sha256').update(token).digest(),
    owner_id: id,
    expires_at: Date.now() + 60_000,
  }
  await db.write((tx) => tx.db.insertInto('sign_in_links').values(row).execute())
  // It removes what was deleted from the pages of the file.
  const removals = db.read.selectFrom('jobs').select('id').where('kind', '=', 'remove-deleted')
  await untilTicked(service, async () => (await removals.execute()).length === 0)

  const answer = await unchanged(service, () => ada.post('/api/sign-in/link', { token }))

  assertRefused(answer, 401, 'UNAUTHENTICATED')
  const link = await countersignd(service.env, 'owner', 'sign-in-link', username)
  assert.equal(link.code, 3, link.stdout)
  const { stdout } = await countersignd(service.env, 'owner', 'list', '--json')
  assert.deepEqual(JSON.parse(stdout), [])
})

test('of concurrent sign-ins with a passkey and its copy, one succeeds', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const browsers = Array.from({ length: 5 }, () => new Visitor(service))
  const responses: object[] = []
  for (const browser of browsers) {
    const { options } = jsonOf(await browser.post('/api/sign-in/passkey/options'))
    responses.push(ada.authenticator.get(options, { counter: 9 }))
  }
  const answers = await Promise.all(
    browsers.map((each, i) => each.post('/api/sign-in/passkey', { response: responses[i] })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401])
})
