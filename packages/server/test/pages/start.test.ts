import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { ask } from '../../../../test/support/ask.ts'
import { startTestService, tempDir } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { siteOf } from '../../src/base/site.ts'
import { loadPages } from '../../src/pages/load-pages.ts'
import { metaOf, textOf } from './support/html.ts'

const BROTLI = { 'accept-encoding': 'br' }

test('the start page addresses every role and uses the names of the deployment', async (t) => {
  const service = await startTestService(t, {
    SHORT_NAME: 'acme',
    ID_HEADER: 'AcmeID',
    SERVICE_NAME: 'Acme',
    BASE_URL: 'https://agents.example',
  })
  const { status, text: html } = await ask(service, '/')
  assert.equal(status, 200)
  const text = textOf(html)
  for (const each of [
    'You run agents',
    'You are an agent, or operate one',
    'You let agents in',
    'You have met an agent',
    'You run a service like this',
    '.tgz claim acme-verify-… --url https://agents.example',
    'curl -s https://agents.example/api/v1/agent/acme:agent:…',
    "-H 'AcmeID: acme:agent:…'",
    'What the grade means',
    'Quick start for agents',
  ]) {
    assert.ok(text.includes(each), each)
  }
  assert.doesNotMatch(html, /svc:|svc-|ServiceID|localhost/)
  for (const href of [
    '/dashboard',
    '/check',
    '/console',
    '/docs',
    '/docs/api',
    '/docs/which-check',
    '/docs/examples#agents',
    '/docs/examples#sites',
    '/openapi.json',
    '/skill.md',
  ]) {
    assert.ok(html.includes(`href="${href}"`), href)
  }
  assert.match(metaOf(html, 'title'), /^Acme: /)
  assert.equal(metaOf(html, 'og:url'), 'https://agents.example/')
  assert.equal(metaOf(html, 'og:image'), 'https://agents.example/preview.png')
})

test('every page has a Content-Security-Policy without inline code and foreign origins', async (t) => {
  const service = await startTestService(t)
  for (const target of [
    '/',
    '/check',
    '/check?agent=x',
    '/check/request',
    '/console',
    '/sample',
    '/docs',
    '/docs/api',
    '/agent/nobody',
    '/nowhere',
  ]) {
    const { headers } = await fetch(service.url + target, { headers: { accept: 'text/html' } })
    const policy = headers.get('content-security-policy') ?? ''
    for (const each of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ]) {
      assert.ok(policy.includes(each), `${target}: ${each}`)
    }
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.ok(headers.has('referrer-policy') && headers.has('permissions-policy'))
    assert.equal(headers.get('strict-transport-security'), null, 'this is plain http')
  }
})

test('assets of pages are immutable and compressed', async (t) => {
  const service = await startTestService(t)
  const html = (await ask(service, '/')).text
  const urls = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, url]) => url)
  assert.ok(urls.length >= 3)
  for (const url of urls) {
    const { status, headers } = await fetch(service.url + url, { headers: BROTLI })
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    if (/\.(js|css)$/.test(url ?? '')) assert.equal(headers.get('content-encoding'), 'br')
  }
  const icon = await ask(service, '/icon.svg')
  assert.equal(icon.headers.get('content-type'), 'image/svg+xml')
})

test('pages that have not been built answer 503 and name the build command', async (t) => {
  const site = siteOf(namingFor(), new URL('http://localhost:8080'))
  const pages = await loadPages({ serviceName: 'x', site, dir: tempDir(t) })
  assert.equal(pages.isBuilt, false)
  assert.throws(() => pages.make, { code: 'UNAVAILABLE', message: /npm run build/ })
})

test('the header says who is signed in, and such a page is for no shared cache', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  for (const path of ['/', '/docs', '/sample']) {
    const known = await ask(service, path, { headers: { cookie: owner.cookie } })
    assert.match(textOf(known.text), /Dashboard, signed in as @ada/, path)
    assert.equal(known.headers.get('cache-control'), 'private, no-cache')
    for (const cookie of ['', owner.cookie.replace(/=.*/, '=forged')]) {
      const stranger = await ask(service, path, { headers: { cookie } })
      assert.match(textOf(stranger.text), /Docs Sign in/, path)
      assert.doesNotMatch(stranger.text, /@ada/)
      assert.match(stranger.headers.get('vary') ?? '', /Cookie/)
    }
  }
})

test('the start page leads to an account, to the check and to a sample that nobody takes for a certificate', async (t) => {
  const service = await startTestService(t)
  const { text: start } = await ask(service, '/')
  for (const href of ['/dashboard/sign-up', '/check', '/sample']) {
    assert.ok(start.includes(`href="${href}"`), href)
  }
  const { status, text: html } = await ask(service, '/sample')
  assert.equal(status, 200)
  const text = textOf(html)
  assert.match(text, /Sample: this agent does not exist, and nobody was verified\./)
  assert.match(text, /Countersign has not issued this certificate/)
  assert.doesNotMatch(text, /This certificate is valid|Copy the DID/)
  assert.match(html, /<meta name="robots" content="noindex"\/>/)
  assert.doesNotMatch(html, /application\/ld\+json|og:image|badge\.svg/)
})
