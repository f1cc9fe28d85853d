import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, assertRefused } from '../../../../test/support/answer.ts'
import { ask, askRaw } from '../../../../test/support/ask.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { openRaw } from '../../../../test/support/raw-database.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { textOf } from './support/html.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

const asBrowser = (service: TestService, target: string) =>
  fetch(service.url + target, { headers: { accept: BROWSER } }).then(pageOf)

async function pageOf(response: Response) {
  const html = await response.text()
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8', html)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.equal(response.headers.get('etag'), null)
  assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none';/)
  assert.match(html, /<meta name="robots" content="noindex"\/>/)
  assert.match(textOf(html), /Request ID req_[0-9a-z]+/)
  return { status: response.status, text: textOf(html), html }
}

test('a browser that requests an unknown address gets an error page', async (t) => {
  const service = await startTestService(t)
  const cases: [string, number, RegExp][] = [
    ['/nowhere', 404, /Page not found/],
    [
      '/agent/nobody-here',
      404,
      /No certificate at this address.*No agent has this username.*proves nothing/,
    ],
    [`/agent/${'1'.repeat(24)}`, 404, /No certificate at this address/],
    ['/agent/%20', 400, /Not an agent/],
    ['/%ff', 400, /Invalid address/],
    ['/assets/nothing.css', 404, /Page not found/],
  ]
  for (const [target, status, words] of cases) {
    await t.test(target, async () => {
      const page = await asBrowser(service, target)
      assert.equal(page.status, status)
      assert.match(page.text, words)
    })
  }
})

test('a program gets the error envelope for every kind of wrong request', async (t) => {
  const service = await startTestService(t)
  const accepts = ['*/*', 'application/json', 'application/json, text/html', 'image/*', 'x', '']
  for (const accept of accepts) {
    const headers = { accept }
    assertRefused(await ask(service, '/agent/nobody-here', { headers }), 404, 'NOT_FOUND')
    assertRefused(await ask(service, '/nowhere', { headers }), 404, 'NOT_FOUND')
  }
  const bare = 'GET /agent/nobody-here HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  assertRefused(await askRaw(service, bare), 404, 'NOT_FOUND')
})

test('API addresses answer errors with the envelope, even to browsers', async (t) => {
  const service = await startTestService(t)
  for (const target of ['/api/nowhere', '/api/agents/x', '/api/v1/agent/x', '/webhooks/x']) {
    const answer = await ask(service, target, { headers: { accept: BROWSER } })
    assertRefusedSomehow(answer)
  }
})

function assertRefusedSomehow(answer: Answer): void {
  assert.ok(answer.status >= 400)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
}

test('a browser that uses another method on a page gets an error page', async (t) => {
  const service = await startTestService(t)
  const response = await fetch(service.url, { method: 'DELETE', headers: { accept: BROWSER } })
  assert.equal(response.headers.get('allow'), 'GET, HEAD')
  const page = await pageOf(response)
  assert.equal(page.status, 405)
  assert.match(page.text, /This URL supports GET, HEAD/)
})

test('a database failure is 503 on a certificate page, never 404', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await giveProfile(service, did, { username: 'shopper' })
  const other = await openRaw(service.settings)
  t.after(() => other.close())
  await other.exec('ALTER TABLE events RENAME TO hidden')
  const deadline = performance.now() + 20_000
  while ((await fetch(`${service.url}/agent/${did}`)).status === 200) {
    assert.ok(performance.now() < deadline, 'the service notices')
  }
  for (const target of [`/agent/${did}`, '/agent/shopper', '/check?agent=shopper']) {
    const page = await asBrowser(service, target)
    assert.equal(page.status, 503)
    assert.match(page.text, /Service unavailable/)
    assert.match(page.text, /Do not assume that a certificate is valid or missing/)
    assert.doesNotMatch(page.text, /No such|Unknown/)
  }
  assert.equal((await fetch(`${service.url}/agent/${did}`)).status, 503)
})
