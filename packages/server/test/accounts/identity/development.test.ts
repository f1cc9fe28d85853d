import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import {
  beginIdentity,
  logInAtProvider,
  signInNewcomer,
  verifyIdentity,
} from '../../../../../test/support/verify-identity.ts'
import { startOfDay } from '../../../src/base/timestamp.ts'

const PROVIDERS = [
  { id: 'dev-low', assurance: 'low', validForDays: 30 },
  { id: 'dev-substantial', assurance: 'substantial', validForDays: 365 },
  { id: 'dev-high', assurance: 'high', validForDays: 730 },
] as const

for (const { id, assurance, validForDays } of PROVIDERS) {
  test(`an owner is verified by ${id}, with ${assurance} assurance`, async (t) => {
    const service = await startTestService(t)
    const owner = await signInNewcomer(service)

    const outcome = await verifyIdentity(service, owner, id, 'Ada Lovelace')

    assert.deepEqual(outcome, { verified: id, failed: null, code: null, request: null })
    const { verifications } = jsonOf<Identity>(await owner.get('/api/identity'))
    const [verification, ...more] = verifications
    assert.ok(verification)
    assert.deepEqual(more, [])
    assert.equal(verification.provider, id)
    assert.equal(verification.assurance, assurance)
    assert.match(verification.label, /^Development/)
    assert.equal(verification.expired, false)
    const [from, until] = [verification.verifiedAt, verification.expiresAt as string].map(
      Date.parse,
    )
    // Public with the grade: an exact end would tell which agents have one owner.
    const end = new Date(startOfDay(from as number))
    const years = validForDays / 365
    if (Number.isInteger(years)) end.setUTCFullYear(end.getUTCFullYear() + years)
    else end.setTime(end.getTime() + validForDays * 86_400_000)
    assert.equal(until, end.getTime())
    assert.ok(Math.abs(Date.now() - (from as number)) < 60_000)
  })
}

test('the authorization request is pushed: the browser carries only its reference', async (t) => {
  const service = await startTestService(t)
  const { redirect } = await beginIdentity(await signInNewcomer(service), 'dev-high')
  const { searchParams } = new URL(redirect)
  assert.deepEqual([...searchParams.keys()].sort(), ['client_id', 'request_uri'])
  assert.match(searchParams.get('request_uri') as string, /^urn:ietf:params:oauth:request_uri:/)
})

test('the login page says that it is for development, runs no script and loads nothing', async (t) => {
  const service = await startTestService(t)
  const { browser, redirect } = await beginIdentity(await signInNewcomer(service), 'dev-low')
  const page = await browser.visit(redirect)
  const response = await browser.request(page.url)
  const csp = response.headers.get('content-security-policy') as string
  assert.match(csp, /^default-src 'none'; style-src 'sha256-/)
  assert.ok(csp.includes(`form-action 'self' ${service.url};`), csp)
  assert.match(page.text, /Development, low assurance/)
  assert.match(page.text, /Development only: nothing is checked here/)
  assert.match(page.text, /<label for="name">/)
  assert.doesNotMatch(page.text, /<script|https?:/)
})

test('an owner who cancels at the provider is not verified', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  const { browser, redirect } = await beginIdentity(owner, 'dev-low')
  const login = await browser.visit(redirect)
  const isBack = (url: URL) => url.origin === service.url
  const { url } = await browser.submit(login, { cancel: 'yes' }, isBack)
  const location = (await browser.request(url)).headers.get('location') as string
  assert.match(location, /\?failed=dev-low&code=declined&request=req_/)
  assert.deepEqual(jsonOf<Identity>(await owner.get('/api/identity')).verifications, [])
})

test('each sign-in in the same browser can be another person', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  const first = await beginIdentity(owner, 'dev-low')
  await first.browser.request(await logInAtProvider(service, first, 'Ada'))
  // The browser has a session at the provider by now, which still shows the login page.
  const again = await beginIdentity(owner, 'dev-low')
  const page = await first.browser.visit(again.redirect)
  assert.match(page.text, /Who are you\?/)
})

test('development providers stop with the service', async (t) => {
  const service = await startTestService(t)
  const { redirect } = await beginIdentity(await signInNewcomer(service), 'dev-low')
  const discovery = new URL('/.well-known/openid-configuration', redirect)
  assert.equal((await fetch(discovery)).status, 200)
  await service.stop()
  await assert.rejects(fetch(discovery))
})
