import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'

/** Headers of requests that a page of another site could cause. */
const FORGERIES: readonly [string, Record<string, string>][] = [
  ['from another origin', { origin: 'https://evil.example' }],
  ['from a subdomain', { origin: 'http://evil.localhost' }],
  ['from a sandboxed frame', { origin: 'null' }],
  ['from another scheme', { origin: 'https://localhost' }],
  ['that the browser calls cross-site', { 'sec-fetch-site': 'cross-site' }],
  ['that the browser calls same-site', { 'sec-fetch-site': 'same-site' }],
]

const CHANGES: readonly [string, string, object?][] = [
  ['POST', '/api/agents/token', {}],
  ['PATCH', '/api/account', { displayName: 'Mallory' }],
  ['POST', '/api/account/recovery-codes', {}],
  ['DELETE', '/api/account/sessions'],
  ['POST', '/api/account/deletion', { username: 'ada' }],
  ['POST', '/api/session/end', {}],
  ['POST', '/api/sign-in/link', { token: 'x' }],
  ['POST', '/api/sign-up/options', { username: 'mallory', displayName: 'M' }],
  ['POST', '/api/identity/in-person/begin', {}],
  ['DELETE', '/api/identity/in-person'],
  ['PATCH', '/api/account/agents/DID', { displayName: 'Mallory' }],
  ['POST', '/api/account/agents/DID/revoke', {}],
  ['POST', '/api/account/agents/revoke-all', { username: 'ada' }],
  [
    'POST',
    '/api/account/agents/status',
    { agents: [`svc:agent:${'1'.repeat(24)}`], status: 'revoked' },
  ],
]

test('a request from another site changes nothing, even with a valid session cookie', async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  const { cookie } = await signIn(service, ownerId)
  for (const [what, forged] of FORGERIES) {
    for (const [method, path, body] of CHANGES) {
      const target = path.replace('DID', did)
      await t.test(`${method} ${path} ${what}`, async () => {
        const type = body && { 'content-type': 'application/json' }
        const answer = await unchanged(service, () =>
          ask(service, target, {
            method,
            headers: { cookie, ...type, ...forged },
            ...(body && { body: JSON.stringify(body) }),
          }),
        )
        assertRefused(answer, 403, 'FORBIDDEN')
      })
    }
  }
})

for (const type of [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
]) {
  test(`a media type that forms can send is rejected: ${type}`, async (t) => {
    const service = await startTestService(t)
    const { cookie } = await signIn(service, await service.operator.addVerifiedOwner('ada'))
    for (const target of ['/api/agents/token', '/api/session/end', '/api/account/recovery-codes']) {
      const init = { method: 'POST', headers: { cookie, 'content-type': type }, body: '{}' }
      const answer = await unchanged(service, () => ask(service, target, init))
      assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
  })
}

test("pages of other origins cannot read the owners' API", async (t) => {
  const service = await startTestService(t)
  const { cookie } = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  for (const target of ['/api/session', '/api/account', '/api/identity', '/api/account/agents']) {
    const answer = await ask(service, target, {
      headers: { cookie, origin: 'https://evil.example' },
    })
    assert.equal(answer.headers.get('access-control-allow-origin'), null, target)
    assert.equal(answer.headers.get('cache-control'), 'no-store', target)
    const preflight = await ask(service, target, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'PATCH' },
    })
    assert.equal(preflight.headers.get('access-control-allow-origin'), null)
  }
})
