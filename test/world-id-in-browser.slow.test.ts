import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { worldIdProvider } from '../packages/server/src/accounts/providers/world-id.ts'
import {
  RP_ID,
  startWorldPortal,
} from '../packages/server/test/accounts/providers/support/world.ts'
import {
  saysYes,
  startWorldBridge,
} from '../packages/server/test/accounts/providers/support/world-bridge.ts'
import { startLoopbackServer } from '../packages/server/test/http/outbound/support/loopback-server.ts'
import { openBrowser } from './support/browser.ts'
import { ROOT, tempDir } from './support/service.ts'
import { BROWSER_MATRIX } from './support/tools.ts'

// World's own IDKit in Chromium, with a bridge, a World App and a portal on loopback. Staging, since only there IDKit
// takes another bridge than World's.

const CONTEXT = { ownerId: 'o_1', callbackUrl: 'http://localhost:8080/identity/callback/world' }
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
}

async function setUp(t: TestContext, policy: (bridge: string) => string) {
  const bridge = await startWorldBridge(t)
  const portal = await startWorldPortal(t)
  const settings = {
    id: 'world',
    type: 'world-id' as const,
    appId: 'app_staging_5a1b2c3d4e5f',
    rpId: RP_ID,
    action: 'countersign-owner',
    signingKey: { env: 'SIGNING_KEY' },
    environment: 'staging' as const,
    address: portal.url,
  }
  const provider = worldIdProvider(settings, { SIGNING_KEY: 'a1'.repeat(32) })
  const page = await openPage(t, policy(bridge.url))
  return { bridge, provider, page }
}

/** A page with nothing on it but the dashboard's part for World ID, built as the dashboard is. */
async function openPage(t: TestContext, policy: string): Promise<Page> {
  const root = tempDir(t)
  const part = join(ROOT, 'packages/dashboard/src/identity/world-id.ts')
  writeFileSync(join(root, 'index.html'), '<script type="module" src="./main.ts"></script>')
  writeFileSync(
    join(root, 'main.ts'),
    `import { startWorldId } from ${JSON.stringify(part)}; globalThis.startWorldId = startWorldId`,
  )
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: 'es2024' },
  })
  const site = await startLoopbackServer(t, ({ path }) => ({
    status: 200,
    body: readFileSync(join(root, 'dist', path === '/' ? 'index.html' : path)),
    headers: {
      'content-type': TYPES[extname(path)] ?? 'text/html',
      'content-security-policy': policy,
    },
  }))
  const browser = await openBrowser(t)
  const page = await browser.newPage()
  await page.goto(site.url)
  return page
}

/** Starts it, and leaves the result in the page. */
function start(page: Page, client: object): Promise<string> {
  return page.evaluate(`startWorldId(${JSON.stringify(client)}).then(({ connectorUri, result }) => {
    result.catch(() => {})
    globalThis.result = result
    return connectorUri
  })`)
}

const NEEDED = (bridge: string) =>
  `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ${bridge}`

test('a person verifies with World App under a strict CSP', BROWSER_MATRIX, async (t) => {
  const { bridge, provider, page } = await setUp(t, NEEDED)
  const { client, state } = await provider.begin(CONTEXT)
  const connectorUri = await start(page, { ...client, bridge_url: bridge.url })
  assert.match(connectorUri, /^https:\/\/staging\.world\.org\/verify\?t=wld&i=/)
  bridge.scan(connectorUri, (request) => {
    assert.equal(request.allow_legacy_proofs, false)
    return saysYes('ada')(request)
  })
  const body = await page.evaluate('globalThis.result')
  const verified = await provider.complete(CONTEXT, { body }, state)
  assert.equal(verified.issuer, `${RP_ID}/countersign-owner`)
  const thief = { ...CONTEXT, ownerId: 'o_2' }
  await assert.rejects(provider.complete(thief, { body }, state), /another account/)
})

test('a person who declines in World App sees that', BROWSER_MATRIX, async (t) => {
  const { bridge, provider, page } = await setUp(t, NEEDED)
  const { client } = await provider.begin(CONTEXT)
  const connectorUri = await start(page, { ...client, bridge_url: bridge.url })
  bridge.scan(connectorUri, () => ({ error_code: 'user_rejected' }))
  await assert.rejects(page.evaluate('globalThis.result'), /You declined the request in World App/)
})

test('a stricter CSP: the page says that World ID is out of reach', BROWSER_MATRIX, async (t) => {
  for (const policy of [
    (bridge: string) => `default-src 'none'; script-src 'self'; connect-src 'self' ${bridge}`,
    () => `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'`,
  ]) {
    const { bridge, provider, page } = await setUp(t, policy)
    const { client } = await provider.begin(CONTEXT)
    const starting = start(page, { ...client, bridge_url: bridge.url })
    await assert.rejects(starting, /World ID could not be reached/)
    assert.equal(bridge.received.length, 0)
  }
})
