import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

async function linkFor(service: TestService, username: string): Promise<URL> {
  const { code, stdout, stderr } = await countersignd(
    service.env,
    'owner',
    'sign-in-link',
    username,
  )
  assert.equal(code, 0, stderr)
  return new URL(stdout.trim())
}

function tokenOf(link: URL): string {
  return link.hash.replace('#link=', '')
}

test('the link that countersignd prints signs its owner in once', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  const link = await linkFor(service, 'ada')
  assert.equal(link.origin + link.pathname, `${service.url}/dashboard/sign-in`)
  assert.match(link.hash, /^#link=[A-Za-z0-9_-]{43}$/)
  const ada = new Visitor(service)
  const answer = await ada.post('/api/sign-in/link', { token: tokenOf(link) })
  assert.equal(answer.status, 200)
  assert.equal(jsonOf<{ owner: { username: string } }>(answer).owner.username, 'ada')
  assert.equal((await ada.account()).owner.username, 'ada')
  const again = await new Visitor(service).post('/api/sign-in/link', { token: tokenOf(link) })
  assertRefused(again, 401, 'UNAUTHENTICATED')
})

test('an owner who signed in with a link adds a passkey and signs in with it', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  const ada = new Visitor(service)
  await ada.post('/api/sign-in/link', { token: tokenOf(await linkFor(service, 'ada')) })
  assert.equal((await ada.addPasskey('Laptop')).status, 201)
  ada.cookies.clear()
  assert.equal((await ada.signIn()).status, 200)
})

test('a newer link replaces the previous one, and of concurrent uses of a link, one succeeds', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  const old = await linkFor(service, 'ada')
  const token = tokenOf(await linkFor(service, 'ada'))
  assertRefused(
    await new Visitor(service).post('/api/sign-in/link', { token: tokenOf(old) }),
    401,
    'UNAUTHENTICATED',
  )
  const answers = await Promise.all(
    Array.from({ length: 25 }, () => new Visitor(service).post('/api/sign-in/link', { token })),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
})

test('a link expires after 15 minutes', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  const token = tokenOf(await linkFor(service, 'ada'))
  const { expires_at } = await service.operator.db.read
    .selectFrom('sign_in_links')
    .select('expires_at')
    .executeTakeFirstOrThrow()
  assert.ok(Math.abs(expires_at - Date.now() - 900_000) < 60_000)
  await service.operator.db.write((tx) =>
    tx.db.updateTable('sign_in_links').set({ expires_at: Date.now() }).execute(),
  )
  assertRefused(
    await new Visitor(service).post('/api/sign-in/link', { token }),
    401,
    'UNAUTHENTICATED',
  )
})

test('an unknown owner gets no link, and --json prints JSON', async (t) => {
  const service = await startTestService(t)
  const nobody = await countersignd(service.env, 'owner', 'sign-in-link', 'nobody')
  assert.equal(nobody.code, 3)
  await service.operator.addVerifiedOwner('ada')
  const { stdout } = await countersignd(service.env, 'owner', 'sign-in-link', 'ada', '--json')
  assert.deepEqual(Object.keys(JSON.parse(stdout)), ['url', 'expiresAt'])
})

test('the data directory contains nothing that can be used to sign in', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const { recoveryCodes } = await ada.signUp('ada')
  const secrets = [
    tokenOf(await linkFor(service, 'ada')),
    ...ada.cookies.values(),
    ...recoveryCodes,
    ...recoveryCodes.map((code) => code.replaceAll('-', '')),
  ]
  const dir = service.settings.dataDir
  for (const file of readdirSync(dir)) {
    const bytes = readFileSync(join(dir, file))
    for (const secret of secrets)
      assert.equal(bytes.includes(secret), false, `${file} holds a secret`)
  }
})
