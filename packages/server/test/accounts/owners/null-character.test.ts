import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimAgent, postJson, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'

/** PostgreSQL rejects a query for text with U+0000; SQLite finds nothing. */
const NUL = 'a%00b'

test('an id with U+0000 is rejected like any unknown id, on both databases', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const agent = await claimAgent(service, owner.ownerId)
  for (const [method, path, body] of [
    ['DELETE', `/api/account/sessions/${NUL}`],
    ['DELETE', `/api/account/passkeys/${NUL}`],
    ['PATCH', `/api/account/passkeys/${NUL}`, { name: 'mine' }],
    ['DELETE', `/api/account/sign-in-providers/${NUL}`],
    ['DELETE', `/api/identity/${NUL}`],
    ['POST', `/api/identity/${NUL}/begin`, {}],
    ['DELETE', `/api/account/agents/${agent}/channels/${NUL}`],
    ['POST', `/api/account/agents/${agent}/channels/${NUL}/check`, {}],
    ['POST', `/api/account/agents/${agent}/channels/${NUL}/renew`, {}],
    ['POST', `/api/account/agents/${agent}/channels`, { kind: 'a\0b', handleOrDomain: 'a\0b' }],
    ['PATCH', `/api/account/agents/${agent}`, { displayName: 'a\0b' }],
  ] as const) {
    const { status, text } = await owner.send(method, path, body)
    assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status} ${text}`)
  }
  const listed = await owner.get(`/api/account/agents?search=${NUL}`)
  assert.ok(listed.status < 500, listed.text)
  for (const [path, body] of [
    ['/api/sign-in/passkey', { id: 'a\0b', rawId: 'a\0b', type: 'public-key', response: {} }],
    ['/api/sign-in/recovery-code', { username: 'a\0b', code: 'a\0b' }],
    ['/api/sign-in/link', { token: 'a\0b' }],
    ['/api/sign-in/provider', { provider: 'a\0b' }],
  ] as const) {
    const { status } = await postJson(service.url + path, body)
    assert.ok(status >= 400 && status < 500, `${path}: ${status}`)
  }
  for (const path of [
    `/agent/${NUL}`,
    `/check?agent=${NUL}`,
    `/sign-in/callback/${NUL}?state=${NUL}`,
  ]) {
    const { status } = await fetch(service.url + path, { redirect: 'manual' })
    assert.ok(status < 500, `${path}: ${status}`)
  }
})
