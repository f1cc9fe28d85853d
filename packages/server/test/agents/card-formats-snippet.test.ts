import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import {
  assertAccessible,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { giveOwnerName, giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, ROOT, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'

const HOSTILE = [
  '</article><script>document.title="owned"</script>',
  '"><img src=x onerror=document.title="owned">',
  "' onfocus='document.title=1' autofocus='",
  '<!--<style>*{display:none}',
  '&lt;script&gt;&#x3c;',
]

const LONG = `${'long-label-'.repeat(5)}x.${'another-'.repeat(7)}y.example.com`

async function scene(t: TestContext) {
  const service = await startTestService(t, { PREVIEWS: 'card-formats' })
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const did = await claimAgent(service, owner)
  const channels = [
    { kind: 'domain', handleOrDomain: LONG, tier: 2 },
    { kind: 'github', handleOrDomain: 'shopper', tier: 1 },
    { kind: 'runtime', handleOrDomain: 'home-server', tier: 1 },
  ] as const
  await giveProfile(service, did, { username: 'shopper', description: 'w'.repeat(160), channels })
  const cards = [`/api/agents/${did}/card`, `/api/v1/agent/${did}/card`] as const
  return { service, owner, did, cards }
}

/** Another site that embeds a card in its page and whose CSP allows only its own styles. */
async function openSite(t: TestContext, serviceUrl: string): Promise<string> {
  const port = await freePort()
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src ${serviceUrl}`,
    `img-src ${serviceUrl}`,
  ].join('; ')
  const files: Record<string, [string, string]> = {
    '/style.css': [
      'text/css',
      `:root { color-scheme: light dark }
      body { background: light-dark(#fff, #111); color: light-dark(#111, #eee); font: 16px/1.5 sans-serif; overflow-wrap: anywhere }
      a { color: light-dark(#00c, #9cf) }`,
    ],
    '/embed.js': [
      'text/javascript',
      `const card = new URLSearchParams(location.search).get('card')
      const answer = await fetch(card, { cache: 'no-store', headers: { accept: 'text/html' } })
      document.querySelector('#here').innerHTML = await answer.text()
      document.body.dataset.done = ''`,
    ],
  }
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Another site</title>
    <link rel="icon" href="${serviceUrl}/icon.svg"><link rel="stylesheet" href="/style.css">
    <script type="module" src="/embed.js"></script></head>
    <body><main><h1>Another site</h1><div id="here"></div></main></body></html>`
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname
    const [type, body] = files[path] ?? ['text/html', page]
    response.setHeader('content-security-policy', policy)
    response.setHeader('content-type', `${type}; charset=utf-8`)
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://localhost:${port}`
}

test('a snippet has no script, no style and no event handler, and all its URLs are absolute', async (t) => {
  const { service, did, cards } = await scene(t)
  for (const target of cards) {
    const { text: html } = await ask(service, target, { headers: { accept: 'text/html' } })
    assert.match(html, /^<article .*<\/article>$/s)
    assert.doesNotMatch(html, /<(script|style|link|iframe|form|object|svg|html|body)\b/i)
    assert.doesNotMatch(html, /\s(style|on\w+|id)=/i)
    const addresses = [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(
      ([, url]) => url as string,
    )
    assert.ok(addresses.includes(`${service.url}/agent/${did}`))
    for (const url of addresses) {
      assert.ok(url.startsWith(`${service.url}/`) || url.startsWith('https://'), url)
    }
  }
})

test('a snippet has every class that docs/cards.md documents for styling', async (t) => {
  const { service, cards } = await scene(t)
  const snippets = await Promise.all(
    cards.map(
      async (each) => (await ask(service, each, { headers: { accept: 'text/html' } })).text,
    ),
  )
  const docs = readFileSync(join(ROOT, 'docs/cards.md'), 'utf8')
  const named = docs.match(/svc-card[\w-]*|data-(?!verification=)[a-z]+/g) ?? []
  assert.ok(new Set(named).size >= 6, named.join())
  for (const each of named) assert.match(snippets.join(), new RegExp(`[" ]${each}[" =]`))
})

test(
  'on the page of a site with a strict policy it is whole and readable, in the light and in the dark',
  BROWSER_MATRIX,
  async (t) => {
    const { service, did, cards } = await scene(t)
    const site = await openSite(t, service.url)
    const browser = await openBrowser(t)
    for (const status of ['active', 'revoked'] as const) {
      if (status === 'revoked') await setStatus(service, did, status)
      for (const target of cards) {
        for (const colorScheme of ['light', 'dark'] as const) {
          const { page, problems } = await newPage(browser, { colorScheme, width: 360 })
          await page.goto(`${site}/?card=${encodeURIComponent(service.url + target)}`)
          await page.locator('body[data-done]').waitFor()
          assert.ok(
            await page
              .getByText(/certificate/i)
              .first()
              .isVisible(),
          )
          const link = page.getByRole('link', { name: 'Certificate by Countersign' })
          assert.equal(await link.getAttribute('href'), `${service.url}/agent/${did}`)
          await assertAccessible(page)
          await assertNoSidewaysScroll(page)
          assert.deepEqual(problems, [], 'nothing that the policy refuses')
          await page.context().close()
        }
      }
    }
  },
)

test(
  'names in a snippet cannot inject markup into the embedding page',
  BROWSER_MATRIX,
  async (t) => {
    const { service, owner, did, cards } = await scene(t)
    const site = await openSite(t, service.url)
    const { page, problems } = await newPage(await openBrowser(t))
    for (const hostile of HOSTILE) {
      const channels = [{ kind: hostile, handleOrDomain: hostile, tier: 2 }] as const
      await service.operator.db.write((tx) => tx.db.deleteFrom('channels').execute())
      await giveProfile(service, did, { displayName: hostile, description: hostile, channels })
      await giveOwnerName(service, owner, hostile, did)
      for (const target of cards) {
        await page.goto(`${site}/?card=${encodeURIComponent(service.url + target)}`)
        await page.locator('body[data-done]').waitFor()
        assert.equal(await page.title(), 'Another site')
        assert.equal(await page.locator('#here > *').count(), 1)
        assert.equal(
          await page.locator('main script, main style, img[src=x], [autofocus]').count(),
          0,
        )
        assert.equal(await page.locator('main strong').first().innerText(), hostile)
      }
    }
    assert.deepEqual(problems, [])
  },
)

test(
  'opened as a page of its own, a snippet loads its picture and nothing else',
  BROWSER_MATRIX,
  async (t) => {
    const { service, cards } = await scene(t)
    const { page, problems } = await newPage(await openBrowser(t))
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const response = await page.goto(service.url + cards[0])
    assert.match(
      (await response?.headerValue('content-security-policy')) ?? '',
      /default-src 'none'/,
    )
    assert.match((await page.locator('article').innerText()) ?? '', /This certificate is valid/)
    const width = await page.evaluate<number>(`(async ([image]) => {
    await image.decode()
    return image.naturalWidth
  })(document.images)`)
    assert.ok(width > 0)
    assert.deepEqual(
      asked.filter((path) => !/card$|avatar\.svg$|favicon/.test(path)),
      [],
    )
    assert.deepEqual(problems, [])
  },
)
