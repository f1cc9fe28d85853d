import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ask, post } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'

/** The default quota of sign-ups: 20 an hour. */
const SIGN_UPS = 20

const beginSignUp = (service: TestService) =>
  ask(service, '/api/sign-up/options', {
    method: 'POST',
    headers: { origin: service.settings.baseUrl.origin, 'content-type': 'application/json' },
    body: JSON.stringify({ username: `u-${randomBytes(4).toString('hex')}`, displayName: 'Ada' }),
  })

test('by default sign-ups are limited by address, and the endpoints of the contract are not', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: '' })
  for (let i = 0; i < SIGN_UPS; i++) assert.equal((await beginSignUp(service)).status, 200)
  const limited = await beginSignUp(service)
  assert.equal(limited.status, 429)
  assert.match(limited.headers.get('ratelimit-policy') ?? '', /^"sign-ups";q=20;w=3600$/)

  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const contract = [
    await ask(service, `/api/v1/agent/${did}`),
    await ask(service, `/api/v1/agent/${did}`, { method: 'HEAD' }),
    await post(service, '/api/v1/agent/verify', verifyBody(key)),
  ]
  for (const { status, headers } of contract) {
    assert.equal(status, 200)
    assert.equal(headers.get('ratelimit-policy'), null)
  }
})

test('RATE_LIMITS=off switches the limits off', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: 'off' })
  for (let i = 0; i <= SIGN_UPS; i++) assert.equal((await beginSignUp(service)).status, 200)
})

test('rendered pictures are limited by address', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: 'pictures=2/h' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const picture = () => ask(service, `/agent/${did}/preview.png`)
  for (let i = 0; i < 2; i++) assert.equal((await picture()).status, 200)
  assert.equal((await picture()).status, 429)
})

test('options for a passkey sign-in store nothing', async (t) => {
  const service = await startTestService(t)
  const { origin } = service.settings.baseUrl
  for (let i = 0; i < 10; i++) {
    const { status } = await ask(service, '/api/sign-in/passkey/options', {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: '{}',
    })
    assert.equal(status, 200)
  }
  const rows = await service.operator.db.read.selectFrom('flows').select('hash').execute()
  assert.deepEqual(rows, [])
})
