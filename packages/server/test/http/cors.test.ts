import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { claimAgent, claimBody, startTestService } from '../../../../test/support/service.ts'

const ORIGIN = { origin: 'https://relying.example' }

/** Addresses that pages of any origin may read. */
function publicReads(did: string): string[] {
  return [
    `/api/v1/agent/${did}`,
    `/api/v1/agent/${did}/card`,
    `/api/agents/${did}`,
    `/api/agents/${did}/card`,
    `/api/agents/${did}/avatar.svg`,
    `/agent/svc/agent/${did.slice(-24)}/did.json`,
    `/agent/${did}/jwks.json`,
    '/api/v1/identify',
    '/openapi.json',
  ]
}

test('pages of any origin may read public resources and their errors, without credentials', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const targets = [
    ...publicReads(did),
    ...publicReads('svc:agent:111111111111111111111111'),
    '/api/v1/agent/x',
  ]
  for (const target of targets) {
    const { headers } = await ask(service, target, { headers: { ...ORIGIN, ServiceID: did } })
    assert.equal(headers.get('access-control-allow-origin'), '*', target)
    assert.equal(headers.get('access-control-allow-credentials'), null)
  }
})

test('pages of any origin may verify a challenge and read the error', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const good = verifyBody(key)
  const bodies = [
    good,
    { ...good, signature: newKey().sign('x') },
    {},
    'no JSON',
    ' '.repeat(20_000),
  ]
  for (const body of bodies) {
    const { headers } = await post(service, '/api/v1/agent/verify', body)
    assert.equal(headers.get('access-control-allow-origin'), '*')
  }
})

test('a preflight response lists the allowed methods and headers', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const reads = publicReads(did).filter((target) => target !== '/openapi.json')
  for (const target of [...reads, '/api/v1/agent/verify']) {
    await t.test(target.replace(/svc:agent:\w+|\w{24}/, '{did}'), async () => {
      const answer = await ask(service, target, {
        method: 'OPTIONS',
        headers: {
          ...ORIGIN,
          'access-control-request-method': target.endsWith('verify') ? 'POST' : 'GET',
          'access-control-request-headers': 'content-type,if-none-match,serviceid',
        },
      })
      assert.equal(answer.status, 204)
      assert.equal(answer.text, '')
      assert.equal(answer.headers.get('access-control-allow-origin'), '*')
      const methods = target.endsWith('verify') ? 'POST, OPTIONS' : 'GET, HEAD, OPTIONS'
      assert.equal(answer.headers.get('access-control-allow-methods'), methods)
      assert.equal(answer.headers.get('allow'), methods)
      const allowed = answer.headers.get('access-control-allow-headers') as string
      assert.deepEqual(allowed.split(', '), ['Content-Type', 'If-None-Match', 'ServiceID'])
      assert.equal(answer.headers.get('access-control-max-age'), '86400')
    })
  }
})

test('a 405 of a public address can be read by pages of any origin', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const reads = publicReads(did).map((target) => [target, 'DELETE'])
  for (const [target, method] of [...reads, ['/api/v1/agent/verify', 'GET']] as [
    string,
    string,
  ][]) {
    const refused = await ask(service, target, { method, headers: ORIGIN })
    assertRefused(refused, 405, 'METHOD_NOT_ALLOWED')
    assert.equal(refused.headers.get('access-control-allow-origin'), '*', target)
    assert.equal(refused.headers.get('access-control-expose-headers'), 'Allow')
  }
  for (const target of ['/api/v1/claim', '/api/account', '/check']) {
    const { headers } = await ask(service, target, { method: 'DELETE', headers: ORIGIN })
    assert.equal(headers.get('access-control-allow-origin'), null, target)
  }
})

test('pages of other origins may not claim: neither preflight nor response allows it', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const preflight = await ask(service, '/api/v1/claim', {
    method: 'OPTIONS',
    headers: { ...ORIGIN, 'access-control-request-method': 'POST' },
  })
  assertRefused(preflight, 405, 'METHOD_NOT_ALLOWED')
  assert.equal(preflight.headers.get('access-control-allow-origin'), null)
  const claim = claimBody(await service.operator.issueToken(owner))
  for (const body of [{}, claim]) {
    const { headers } = await post(service, '/api/v1/claim', body)
    assert.equal(headers.get('access-control-allow-origin'), null)
  }
})

test("the preflight response names the deployment's id header", async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
  const { headers } = await ask(service, '/api/v1/identify', { method: 'OPTIONS' })
  assert.match(headers.get('access-control-allow-headers') as string, /, AcmeID$/)
})
