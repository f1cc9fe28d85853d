import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { openApiOf } from '../../../../../../test/support/openapi.ts'
import { freePort } from '../../../../../../test/support/ports.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../../test/support/service.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { assertLimited, BEHIND_PROXY, failToClaim, LIMITED, leftOf, policiesOf } from './support.ts'

const VERIFY = '/api/v1/agent/verify'

test('without the preview the endpoints of the contract have no limits, and no header mentions any', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: 'failed-claims=1/h,reads=1/h' })
  for (let i = 0; i < 15; i++) {
    const answer = await failToClaim(service)
    assert.equal(answer.status, 404)
    for (const name of ['ratelimit', 'ratelimit-policy', 'retry-after']) {
      assert.equal(answer.headers.get(name), null)
    }
  }
  const { document } = await openApiOf(service)
  const limited = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations)
      .filter((each) => each['x-errors']?.includes('RATE_LIMITED'))
      .map(({ operationId }) => operationId),
  )
  assert.deepEqual(limited.toSorted(), [
    ...[
      'allowDelegation',
      'beginOrganisationSignIn',
      'beginProviderSignIn',
      'changeScimUser',
      'createDelegationGroup',
      'createInvitation',
      'createReport',
      'createScimUser',
    ],
    ...['endDelegationGroup', 'endDelegations', 'endOwnDelegations', 'enrol', 'issueGrant'],
    'listScimUsers',
    ...['passkeySignInOptions', 'preview', 'readScimUser', 'redeliverWebhook', 'removeScimUser'],
    ...[
      'replaceScimUser',
      'reportOwnKey',
      'requestApproval',
      'revokeAgent',
      'scimConfig',
      'scimResourceTypes',
    ],
    ...['scimSchemas', 'signInByLink', 'signInByRecoveryCode', 'signInWithPasskey', 'signUp'],
    ...['signUpByProvider', 'signUpOptions', 'testWebhook'],
  ])
})

test('with it /openapi.json lists RATE_LIMITED for every operation that is not exempt', async (t) => {
  const service = await startTestService(t, LIMITED)
  const { document } = await openApiOf(service)
  const free = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations)
      .filter((each) => !each['x-errors']?.includes('RATE_LIMITED'))
      .map(({ operationId }) => operationId),
  )
  assert.deepEqual(free.toSorted(), [
    ...[
      'changeStatuses',
      'contestKeys',
      'endEnrolment',
      'endEnrolmentRule',
      'endOwnDelegationGroup',
      'healthz',
      'pauseEnrolmentRule',
      'readyz',
      'revokeAllAgents',
      'signOut',
      'statusFeedLatest',
      'suspendAgent',
    ],
  ])
  const refusal = document.paths['/api/v1/claim']?.post?.responses['429'] as {
    headers?: Record<string, unknown>
  }
  const names = Object.keys(refusal.headers ?? {})
  assert.deepEqual(
    names.filter((name) => name !== 'Cache-Control'),
    ['Retry-After', 'RateLimit-Policy', 'RateLimit'],
  )
})

test('issuing tokens is limited by session and by address', async (t) => {
  const RATE_LIMITS = 'mint=3/h,mint-address=5/h'
  const service = await startTestService(t, { ...LIMITED, RATE_LIMITS })
  const sign = async () => signIn(service, await service.operator.addVerifiedOwner())
  const [one, other] = [await sign(), await sign()]
  for (const left of [2, 1, 0]) {
    const answer = await one.post('/api/agents/token')
    assert.equal(answer.status, 201)
    assert.equal(leftOf(answer).get('mint')?.get('r'), left)
  }
  assertLimited(await one.post('/api/agents/token'), 'mint')
  assert.equal((await other.post('/api/agents/token')).status, 201)
  assertLimited(await other.post('/api/agents/token'), 'mint-address')
  const [agent] = [await claimAgent(service, one.ownerId)]
  assert.equal((await one.post(`/api/account/agents/${agent}/revoke`)).status, 200)
})

test('sign-in is limited by address, with a second limit for recovery codes', async (t) => {
  const RATE_LIMITS = 'sign-ins=6/h,recovery-codes=4/h,sign-ups=1/h'
  const service = await startTestService(t, { ...BEHIND_PROXY, RATE_LIMITS })
  const guess = (from: string) =>
    ownersPost(
      service,
      '/api/sign-in/recovery-code',
      { username: 'ada', code: 'x'.repeat(16) },
      from,
    )
  for (let i = 0; i < 4; i++) assert.equal((await guess('203.0.113.7')).status, 401)
  assertLimited(await guess('203.0.113.7'), 'recovery-codes')
  assert.equal((await guess('203.0.113.8')).status, 401, 'nobody else is locked out')
  const begin = (from: string) => ownersPost(service, '/api/sign-in/passkey/options', {}, from)
  assert.equal((await begin('203.0.113.7')).status, 200)
  assertLimited(await begin('203.0.113.7'), 'sign-ins')
  const up = { username: 'ada', displayName: 'Ada' }
  assert.equal((await ownersPost(service, '/api/sign-up/options', up, '203.0.113.7')).status, 200)
  assertLimited(await ownersPost(service, '/api/sign-up/options', up, '203.0.113.7'), 'sign-ups')
})

test('channel checks on request are limited by session', async (t) => {
  const service = await startTestService(t, { ...LIMITED, RATE_LIMITS: 'channel-checks=1/h' })
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const agent = await claimAgent(service, owner.ownerId)
  const check = () => owner.post(`/api/account/agents/${agent}/channels/none/check`)
  assert.equal((await check()).status, 404)
  assertLimited(await check(), 'channel-checks')
})

test('verifications and reads, including plain lookups, are limited by address; HEAD counts once', async (t) => {
  const RATE_LIMITS = 'verifications=2/h,reads=4/h'
  let now = Date.now()
  const service = await startTestService(t, { ...LIMITED, RATE_LIMITS }, () => now)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const left of [1, 0]) {
    const answer = await post(service, VERIFY, verifyBody(key))
    assert.equal(answer.status, 200)
    assert.equal(leftOf(answer).get('verifications')?.get('r'), left)
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /RateLimit/)
  }
  const refused = await post(service, VERIFY, verifyBody(key))
  assertLimited(refused, 'verifications')
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  assertLimited(await post(service, '/api/v1/verify-request', {}), 'verifications')

  const lookup = `/api/v1/agent/${did}`
  const kept = [
    await ask(service, lookup),
    await ask(service, lookup, { method: 'HEAD' }),
    await ask(service, `/api/agents/${did}/card`),
  ]
  for (const answer of kept) {
    assert.equal(answer.status, 200)
    assert.equal(policiesOf(answer).size, 0, 'a cache would tell one caller of another')
  }
  // One more was for /openapi.json, which the test itself asked for: it is under the limit as well.
  assertLimited(await ask(service, lookup), 'reads')
  assert.equal((await ask(service, '/healthz')).status, 200)
  assert.equal((await ask(service, VERIFY, { method: 'OPTIONS' })).status, 204)
  now += 3_600_000
  assert.equal((await ask(service, lookup)).status, 200)
})

test('a limit that is off does not apply; rejected requests are counted in the metrics', async (t) => {
  const METRICS_PORT = String(await freePort())
  const RATE_LIMITS = 'failed-claims=off,claims=12/h'
  const service = await startTestService(t, { ...LIMITED, METRICS_PORT, RATE_LIMITS })
  for (let i = 0; i < 12; i++) {
    const answer = await failToClaim(service)
    assert.equal(answer.status, 404)
    assert.ok(!policiesOf(answer).has('failed-claims'))
  }
  assertLimited(await failToClaim(service), 'claims')
  const metrics = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
  assert.match(metrics, /^countersign_rate_limited_total\{limit="claims"\} 1$/m)
})

function ownersPost(
  service: TestService,
  target: string,
  body: unknown,
  from: string,
): Promise<Answer> {
  const { origin } = service.settings.baseUrl
  return post(service, target, body, 'application/json', { origin, 'x-forwarded-for': from })
}
