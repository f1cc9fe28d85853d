import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { ROOT, startTestService, tempDir } from '../../../../../test/support/service.ts'

const ASSETS = join(ROOT, 'packages/dashboard/dist/assets')

test('every dashboard path serves one page, with a policy without inline code', async (t) => {
  const service = await startTestService(t)
  for (const path of [
    '/dashboard',
    '/dashboard/',
    '/dashboard/agents/svc:agent:x',
    '/dashboard/a/b',
  ]) {
    const { status, headers, text } = await ask(service, path)
    assert.equal(status, 200, path)
    assert.match(text, /<div id="root">/)
    assert.doesNotMatch(text, /<style|<script(?![^>]* src=)| style=| on\w+=/)
    const policy = headers.get('content-security-policy') as string
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
    assert.doesNotMatch(policy, /unsafe|https?:/)
    assert.equal(headers.get('cache-control'), 'no-cache')
  }
})

test('before its scripts arrive, a page of an organisation names it, and no other page does', async (t) => {
  const service = await startTestService(t)
  for (const path of ['/dashboard/o/acme', '/dashboard/o/acme/agents', '/dashboard/o/acme?x=1']) {
    assert.match((await ask(service, path)).text, /Acting for @acme</, path)
  }
  for (const path of [
    '/dashboard',
    '/dashboard/sign-in',
    '/dashboard/o/',
    '/dashboard/o/%3Cb%3E',
  ]) {
    assert.doesNotMatch((await ask(service, path)).text, /Acting for|%ORGANISATION%/, path)
  }
})

test('assets are compressed and immutable; one of an older build gets 404', async (t) => {
  const service = await startTestService(t)
  const script = readdirSync(ASSETS).find((each) => each.endsWith('.js')) as string
  const plain = await fetch(`${service.url}/dashboard/assets/${script}`, {
    headers: { 'accept-encoding': 'br' },
  })
  assert.equal(plain.headers.get('content-encoding'), 'br')
  assert.match(plain.headers.get('cache-control') as string, /immutable/)
  assert.equal(await plain.text(), readFileSync(join(ASSETS, script), 'utf8'))
  assertRefused(await ask(service, '/dashboard/assets/old-1234.js'), 404, 'NOT_FOUND')
  assertRefused(
    await ask(service, '/dashboard/agents', { method: 'POST' }),
    405,
    'METHOD_NOT_ALLOWED',
  )
})

test('if World ID is configured, the policy allows what its script needs, and no more', async (t) => {
  const file = join(tempDir(t), 'providers.json')
  const provider = {
    id: 'world-id',
    type: 'world-id',
    appId: 'app_0123456789abcdef0123456789abcdef',
    rpId: 'rp_0123456789abcdef',
    action: 'verify-owner',
    signingKey: { env: 'WORLD_KEY' },
  }
  writeFileSync(file, JSON.stringify({ providers: [provider] }))
  const key = '11'.repeat(32)
  const service = await startTestService(t, { IDENTITY_PROVIDERS: file, WORLD_KEY: key })
  const policy = (await ask(service, '/dashboard')).headers.get('content-security-policy') as string
  assert.match(policy, /script-src 'self' 'wasm-unsafe-eval';/)
  assert.match(policy, /connect-src 'self' https:\/\/bridge\.worldcoin\.org;/)
  const check = (await fetch(`${service.url}/check`)).headers.get(
    'content-security-policy',
  ) as string
  assert.doesNotMatch(check, /unsafe|https?:/)
})

test('no page of the dashboard loads more than 200 kB of script, gzipped', () => {
  const entry = readFileSync(join(ASSETS, '../index.html'), 'utf8')
  const main = [...entry.matchAll(/assets\/([\w.-]+\.js)/g)].map((match) => match[1] as string)
  const pages = readdirSync(ASSETS).filter((each) => /-page-[\w-]+\.js$/.test(each))
  assert.ok(pages.length >= 7, `${pages}`)
  for (const page of pages) {
    const files = withImports([...main, page])
    const size = files.reduce(
      (sum, file) => sum + gzipSync(readFileSync(join(ASSETS, file))).length,
      0,
    )
    assert.ok(size < 200_000, `${page} loads ${size} bytes in ${files.length} files`)
  }
})

/** The scripts and their static imports. Dynamic imports do not count. */
function withImports(files: readonly string[]): string[] {
  const all = new Set(files)
  for (const file of all) {
    const code = readFileSync(join(ASSETS, file), 'utf8')
    for (const [, name] of code.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
      all.add(name as string)
  }
  return [...all]
}
