import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

const UNKNOWN = /wrong or was used/

test('a recovery code signs in once, regardless of case, hyphens and lookalike letters', async (t) => {
  const service = await startTestService(t)
  const { recoveryCodes } = await new Visitor(service).signUp('ada')
  const [first = '', second = ''] = recoveryCodes
  const visitor = new Visitor(service)
  for (const code of [
    first,
    ` ${second.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `,
  ]) {
    const body = { username: 'ada', code }
    const answer = await visitor.post('/api/sign-in/recovery-code', body)
    assert.equal(answer.status, 200, answer.text)
    assertRefused(
      await visitor.post('/api/sign-in/recovery-code', body),
      401,
      'UNAUTHENTICATED',
      UNKNOWN,
    )
  }
  const { recoveryCodes: left, sessions } = await visitor.account()
  assert.equal(left.left, 8)
  assert.deepEqual(sessions.map(({ method }) => method).sort(), ['passkey', 'recovery-code'])
})

test('an unknown owner and a wrong code get the same error', async (t) => {
  const service = await startTestService(t)
  const { recoveryCodes } = await new Visitor(service).signUp('ada')
  await new Visitor(service).signUp('grace')
  const visitor = new Visitor(service)
  const attempts = [
    { username: 'ada', code: '0000-0000-0000-0000' },
    { username: 'nobody', code: recoveryCodes[0] as string },
    { username: 'grace', code: recoveryCodes[0] as string },
  ]
  for (const each of attempts) {
    assertRefused(
      await visitor.post('/api/sign-in/recovery-code', each),
      401,
      'UNAUTHENTICATED',
      UNKNOWN,
    )
  }
  const [code] = recoveryCodes
  assert.equal(
    (await visitor.post('/api/sign-in/recovery-code', { username: 'ada', code })).status,
    200,
  )
})

test('of concurrent uses of a recovery code, one succeeds', async (t) => {
  const service = await startTestService(t)
  const { recoveryCodes } = await new Visitor(service).signUp('ada')
  const body = { username: 'ada', code: recoveryCodes[0] as string }
  const answers = await Promise.all(
    Array.from({ length: 25 }, () => new Visitor(service).post('/api/sign-in/recovery-code', body)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 401).length, 24)
})

test('new recovery codes replace the old ones', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const { recoveryCodes: old } = await ada.signUp('ada')
  const answer = await ada.post('/api/account/recovery-codes')
  assert.equal(answer.status, 201)
  const { recoveryCodes } = jsonOf<{ recoveryCodes: string[] }>(answer)
  assert.equal(new Set([...old, ...recoveryCodes]).size, 20)
  const visitor = new Visitor(service)
  const signIn = (code: string | undefined) =>
    visitor.post('/api/sign-in/recovery-code', { username: 'ada', code: code as string })
  assertRefused(await signIn(old[3]), 401, 'UNAUTHENTICATED')
  assert.equal((await signIn(recoveryCodes[3])).status, 200)
})
