import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionState } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import type { Misconduct } from '../../../../../test/support/authenticator.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

async function whoIs(visitor: Visitor): Promise<SessionState> {
  return jsonOf<SessionState>(await visitor.get('/api/session'))
}

async function signUpOptions(visitor: Visitor, username = 'ada'): Promise<unknown> {
  const answer = await visitor.post('/api/sign-up/options', { username, displayName: 'Ada' })
  return jsonOf<{ options: unknown }>(answer).options
}

test('an owner signs up with a passkey, signs out and signs in again', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)

  const { owner, recoveryCodes } = await ada.signUp('ada', 'Ada Lovelace')

  assert.deepEqual(owner, { username: 'ada', displayName: 'Ada Lovelace' })
  assert.equal(new Set(recoveryCodes).size, 10)
  assert.deepEqual((await whoIs(ada)).owner, owner)
  assert.equal((await ada.post('/api/session/end')).status, 204)
  assert.equal((await whoIs(ada)).owner, null)
  assertRefused(await ada.get('/api/account'), 401, 'UNAUTHENTICATED')
  const back = await ada.signIn()
  assert.equal(back.status, 200, back.text)
  assert.deepEqual(jsonOf(back), { owner })
  const [passkey] = (await ada.account()).passkeys
  assert.equal(passkey?.name, 'First passkey')
  assert.notEqual(passkey?.lastUsedAt, null)
})

test('the options request a discoverable passkey with user verification and without attestation', async (t) => {
  const service = await startTestService(t)
  const options = (await signUpOptions(new Visitor(service))) as Record<string, unknown>
  assert.deepEqual(
    { ...(options.authenticatorSelection as object) },
    { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  )
  assert.equal(options.attestation, 'none')
  assert.deepEqual(options.rp, { id: 'localhost', name: 'Countersign' })
  const user = options.user as { id: string; name: string }
  assert.equal(Buffer.from(user.id, 'base64url').length, 32)
  assert.equal(user.name, 'ada')
})

/** Registrations that must be rejected. */
const BAD_CREATIONS: readonly [string, Misconduct][] = [
  ['made at another origin', { origin: 'https://evil.example' }],
  ['made for another host', { rpId: 'evil.example' }],
  ['made for another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
  ['made without unlocking the device', { userVerified: false }],
]
for (const [what, wrong] of BAD_CREATIONS) {
  test(`sign-up rejects a passkey ${what}`, async (t) => {
    const service = await startTestService(t)
    const visitor = new Visitor(service)
    const response = visitor.authenticator.create(await signUpOptions(visitor), wrong)
    assertRefused(await visitor.post('/api/sign-up', { response }), 400, 'VALIDATION_ERROR')
    assert.equal((await whoIs(visitor)).owner, null)
    assert.equal(await countOwners(service), 0)
  })
}

/** Authentications that must be rejected. */
const BAD_USES: readonly [string, Misconduct][] = [
  ...BAD_CREATIONS,
  ['whose counter went backwards', { counter: 1 }],
  ['that says it is for somebody else', { userHandle: Buffer.alloc(32).toString('base64url') }],
]
for (const [what, wrong] of BAD_USES) {
  test(`sign-in rejects a passkey ${what.replace('made', 'used')}`, async (t) => {
    const service = await startTestService(t)
    const ada = new Visitor(service)
    await ada.signUp('ada')
    assert.equal((await ada.signIn()).status, 200)
    assert.equal((await ada.signIn()).status, 200)
    ada.cookies.clear()
    assertRefused(await ada.signIn(wrong), 401, 'UNAUTHENTICATED')
    assert.equal((await whoIs(ada)).owner, null)
  })
}

test('an authenticator response is accepted once, and only in the browser that began the sign-in', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  ada.cookies.clear()
  const { options } = jsonOf(await ada.post('/api/sign-in/passkey/options'))
  const response = ada.authenticator.get(options)
  const thief = new Visitor(service)
  assertRefused(await thief.post('/api/sign-in/passkey', { response }), 400, 'VALIDATION_ERROR')
  await thief.post('/api/sign-in/passkey/options')
  assertRefused(await thief.post('/api/sign-in/passkey', { response }), 401, 'UNAUTHENTICATED')
  const flow = new Map(ada.cookies)
  assert.equal((await ada.post('/api/sign-in/passkey', { response })).status, 200)
  for (const [name, value] of flow) ada.cookies.set(name, value)
  assertRefused(await ada.post('/api/sign-in/passkey', { response }), 400, 'VALIDATION_ERROR')
})

test('a sign-up is completed once, and its flow cannot complete a sign-in', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const response = ada.authenticator.create(await signUpOptions(ada))
  const flow = new Map(ada.cookies)
  assert.equal((await ada.post('/api/sign-up', { response })).status, 201)
  for (const [name, value] of flow) ada.cookies.set(name, value)
  assertRefused(await ada.post('/api/sign-up', { response }), 400, 'VALIDATION_ERROR')
  await signUpOptions(ada, 'grace')
  assertRefused(await ada.post('/api/sign-in/passkey', { response }), 400, 'VALIDATION_ERROR')
})

test('of concurrent sign-ups with one username, one succeeds, and the others store nothing', async (t) => {
  const service = await startTestService(t)
  const visitors = Array.from({ length: 10 }, () => new Visitor(service))
  const responses = await Promise.all(
    visitors.map(async (each) => each.authenticator.create(await signUpOptions(each))),
  )
  const answers = await Promise.all(
    visitors.map((each, i) => each.post('/api/sign-up', { response: responses[i] })),
  )
  const taken = answers.filter(({ status }) => status !== 201)
  assert.equal(taken.length, 9)
  for (const each of taken) assertRefused(each, 400, 'VALIDATION_ERROR', /taken/)
  assert.equal(await countOwners(service), 1)
})

for (const username of [
  'AB',
  'admin',
  'adm1n',
  'svc',
  '-ada',
  'a--b',
  'x'.repeat(33),
  'a'.repeat(24),
]) {
  test(`sign-up rejects the username ${username}`, async (t) => {
    const service = await startTestService(t)
    const body = { username, displayName: 'Ada' }
    const answer = await unchanged(service, () =>
      new Visitor(service).post('/api/sign-up/options', body),
    )
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  })
}

test('a lookalike of a taken username is rejected before the passkey is created', async (t) => {
  const service = await startTestService(t)
  await new Visitor(service).signUp('paypal')
  const answer = await new Visitor(service).post('/api/sign-up/options', {
    username: 'paypa1',
    displayName: 'Pay',
  })
  assertRefused(answer, 400, 'VALIDATION_ERROR', /looks like/)
})

test('at an IP address passkeys are rejected with an explanation, and the session state says so', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'http://127.0.0.1:8080' })
  const visitor = new Visitor(service)
  assert.equal((await whoIs(visitor)).service.passkeys, false)
  const answer = await visitor.post('/api/sign-in/passkey/options')
  assertRefused(answer, 400, 'VALIDATION_ERROR', /host name/)
})

test('malformed passkey responses are rejected', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const id = ada.authenticator.passkeys[0]?.id.toString('base64url')
  for (const response of [
    {},
    { id: 5 },
    { id },
    { id, response: null },
    { id, response: { clientDataJSON: '!' } },
  ]) {
    await ada.post('/api/sign-in/passkey/options')
    assertRefused(await ada.post('/api/sign-in/passkey', { response }), 401, 'UNAUTHENTICATED')
    await signUpOptions(ada, 'grace')
    assertRefused(await ada.post('/api/sign-up', { response }), 400, 'VALIDATION_ERROR')
  }
})

async function countOwners({ operator }: TestService): Promise<number> {
  return (await operator.db.read.selectFrom('owners').select('id').execute()).length
}
