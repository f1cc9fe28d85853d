import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card, Passkey } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

test("an owner's new names show on their agents' cards at once", async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  const owner = await signIn(service, ownerId)
  const names = { username: 'countess', displayName: 'Ada, Countess of Lovelace' }
  const answer = await owner.send('PATCH', '/api/account', names)
  assert.deepEqual(jsonOf(answer), names)
  const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
  assert.deepEqual(card.owner, names)
})

for (const [what, patch] of [
  ['reserved', { username: 'admin' }],
  ['taken', { username: 'grace' }],
  ['like a taken one', { username: 'gra-ce' }],
  ['out of its alphabet', { username: 'Grace' }],
  ['blank', { displayName: '\u200b' }],
  ['turned around', { displayName: 'evil\u202etxt' }],
  ['nothing', {}],
  ['unknown', { owner: 'x' }],
] as const) {
  test(`a name that is ${what} is refused`, async (t) => {
    const service = await startTestService(t)
    await service.operator.addVerifiedOwner('grace')
    const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
    assertRefused(await owner.send('PATCH', '/api/account', patch), 400, 'VALIDATION_ERROR')
    assert.equal(
      jsonOf<{ owner: { username: string } }>(await owner.get('/api/account')).owner.username,
      'ada',
    )
  })
}

test('an owner can change to a lookalike of their own username', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('bill'))
  assert.equal((await owner.send('PATCH', '/api/account', { username: 'b1ll' })).status, 200)
})

test('passkeys can be added, renamed and removed, except the last sign-in method', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const added = await ada.addPasskey('Phone')
  assert.equal(added.status, 201, added.text)
  const phone = jsonOf<Passkey>(added)
  const renamed = await ada.send('PATCH', `/api/account/passkeys/${phone.id}`, {
    name: 'Old phone',
  })
  assert.equal(jsonOf<Passkey>(renamed).name, 'Old phone')
  ada.cookies.clear()
  const [first, second] = ada.authenticator.passkeys
  assert.equal((await ada.signIn({}, second)).status, 200)
  const { passkeys } = await ada.account()
  assert.deepEqual(
    passkeys.map(({ name }) => name),
    ['First passkey', 'Old phone'],
  )

  const remove = (id: string | undefined) => ada.send('DELETE', `/api/account/passkeys/${id}`)
  assert.equal((await remove(passkeys[0]?.id)).status, 204)
  assertRefused(await ada.signIn({}, first), 401, 'UNAUTHENTICATED')
  assertRefused(await remove(phone.id), 400, 'VALIDATION_ERROR', /last sign-in method/)
  assert.equal((await ada.account()).passkeys.length, 1)
  assert.equal((await ada.signIn({}, second)).status, 200)
})

test('removing a passkey ends the sessions that it started, and no others', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const { recoveryCodes } = await ada.signUp('ada')
  await ada.addPasskey('Stolen')
  const [first, stolen] = ada.authenticator.passkeys
  const [thief, owner, elsewhere] = [0, 1, 2].map(() => {
    const visitor = new Visitor(service)
    visitor.authenticator.passkeys.push(...ada.authenticator.passkeys)
    return visitor
  }) as [Visitor, Visitor, Visitor]
  assert.equal((await thief.signIn({}, stolen)).status, 200)
  assert.equal((await owner.signIn({}, first)).status, 200)
  const code = { username: 'ada', code: recoveryCodes[0] as string }
  assert.equal((await elsewhere.post('/api/sign-in/recovery-code', code)).status, 200)

  const stolenId = (await owner.account()).passkeys.find(({ name }) => name === 'Stolen')?.id
  assert.equal((await owner.send('DELETE', `/api/account/passkeys/${stolenId}`)).status, 204)

  assertRefused(await thief.get('/api/account'), 401, 'UNAUTHENTICATED')
  for (const visitor of [ada, owner, elsewhere]) {
    assert.equal((await visitor.get('/api/account')).status, 200)
  }
})

test('a session ends with the passkey that started it, even if it removes the passkey itself', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  await ada.addPasskey('Phone')
  const [first] = (await ada.account()).passkeys
  assert.equal((await ada.send('DELETE', `/api/account/passkeys/${first?.id}`)).status, 204)
  assertRefused(await ada.get('/api/account'), 401, 'UNAUTHENTICATED')
})

test('removing both passkeys concurrently leaves one', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const { recoveryCodes } = await ada.signUp('ada')
  await ada.addPasskey('Phone')
  const { passkeys } = await ada.account()
  // A session that no passkey started: removing one would end it before the other request.
  const code = { username: 'ada', code: recoveryCodes[0] as string }
  assert.equal((await ada.post('/api/sign-in/recovery-code', code)).status, 200)
  const answers = await Promise.all(
    passkeys.map(({ id }) => ada.send('DELETE', `/api/account/passkeys/${id}`)),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 400])
})

test("owners cannot see or change another owner's passkeys, and a passkey belongs to one account", async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const grace = new Visitor(service)
  await grace.signUp('grace')
  const [passkey] = (await ada.account()).passkeys
  const path = `/api/account/passkeys/${passkey?.id}`
  assertRefused(await grace.send('DELETE', path), 404, 'NOT_FOUND')
  assertRefused(await grace.send('PATCH', path, { name: 'Mine' }), 404, 'NOT_FOUND')
  // Grace cannot complete the flow that Ada's browser began.
  const { options } = jsonOf(await ada.post('/api/account/passkeys/options'))
  const response = ada.authenticator.create(options)
  for (const [name, value] of ada.cookies) if (name.includes('flow')) grace.cookies.set(name, value)
  assertRefused(await grace.post('/api/account/passkeys', { response }), 400, 'VALIDATION_ERROR')
})

test('a passkey from another origin, or without user verification, is not added', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  for (const wrong of [{ origin: 'https://evil.example' }, { userVerified: false }]) {
    assertRefused(await ada.addPasskey('Evil', wrong), 400, 'VALIDATION_ERROR')
  }
  assert.equal((await ada.account()).passkeys.length, 1)
})

test("the registration options exclude the account's passkeys and repeat its user handle", async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  interface Options {
    excludeCredentials: { id: string }[]
    user: { id: string }
  }
  const { options } = jsonOf<{ options: Options }>(await ada.post('/api/account/passkeys/options'))
  const [passkey] = ada.authenticator.passkeys
  assert.deepEqual(
    options.excludeCredentials.map(({ id }) => id),
    [passkey?.id.toString('base64url')],
  )
  assert.equal(options.user.id, passkey?.userHandle)
})
