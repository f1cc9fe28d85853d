import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertFit, newPage, openBrowser } from '../../../../../test/support/browser.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../../test/support/tools.ts'
import { until } from '../../../../../test/support/until.ts'

for (const [part, isIn] of [
  ['the documentation, from a to g', (path: string) => /^\/docs(\/(?!api)[a-g].*)?$/.test(path)],
  ['the documentation, from h to z', (path: string) => /^\/docs\/[h-z]/.test(path)],
  ['the HTTP reference', (path: string) => path.startsWith('/docs/api')],
] as const) {
  test(
    `axe finds no violation in ${part}, in both themes, wide and narrow, without JavaScript`,
    BROWSER_MATRIX,
    async (t) => {
      const service = await startTestService(t)
      const browser = await openBrowser(t)
      const { page, problems } = await newPage(browser)
      await page.goto(`${service.url}/docs`)
      const all: string[] = await page.evaluate(
        `[...new Set([...document.querySelectorAll('a[href^="/docs"]')].map((each) => each.pathname))]`,
      )
      const paths = all.filter(isIn)
      assert.ok(paths.length >= 6)
      const bare = await newPage(browser, { javaScript: false, width: 360 })
      for (const path of paths) {
        await t.test(path, async () => {
          await assertFit(page, async () => {
            await page.goto(service.url + path)
            // Axe takes a minute for the thousands of words of all examples, which have the same few colours.
            await page.evaluate(
              "for (const each of [...document.querySelectorAll('pre')].slice(8)) each.remove()",
            )
          })
          await page.goto(service.url + path)
          await bare.page.goto(service.url + path)
          // Only what needs JavaScript may be missing without it.
          await page.evaluate(
            "for (const each of document.querySelectorAll('.code-copy, .api-try')) each.remove()",
          )
          const text = await page.locator('main').innerText()
          assert.equal(await bare.page.locator('main').innerText(), text)
          assert.deepEqual([problems, bare.problems], [[], []])
        })
      }
    },
  )
}

test(
  'the table of contents of a page is beside it or folded above it, and works by keyboard',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const { page } = await newPage(await openBrowser(t), { width: 360, javaScript: false })
    await page.goto(`${service.url}/docs/agents`)
    const folded = page.getByText('On this page')
    await folded.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('listitem').getByRole('link', { name: 'With MCP' }).first().click()
    await page.waitForURL('**/docs/agents#with-mcp')

    await page.setViewportSize({ width: 1280, height: 900 })
    const map = page.getByRole('navigation', { name: 'Documentation' })
    await map.getByRole('link', { name: 'With TypeScript' }).click()
    await page.waitForURL('**/docs/agents#with-typescript')
    assert.equal(await map.locator('[aria-current=page]').innerText(), 'Quick start for agents')
    await map.getByText('API reference').click()
    await map.getByRole('link', { name: 'Claims and keys of agents' }).click()
    await page.getByRole('heading', { name: 'Redeem a claim token for a DID' }).waitFor()
  },
)

test('wide tables and code scroll by themselves, also by keyboard', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const { page } = await newPage(await openBrowser(t), { width: 360 })
  await page.goto(`${service.url}/docs/quickstart`)
  const code = page.locator('pre').filter({ hasText: 'openssl genpkey' })
  await code.focus()
  await page.keyboard.press('ArrowRight')
  // Poll from the test: waitForFunction would evaluate text in the page, which its policy forbids.
  await until(() => page.evaluate('document.activeElement.scrollLeft > 0'), 20_000)
  assert.equal(await page.evaluate('document.activeElement.localName'), 'pre')
})

test(
  'code can be copied, an operation can be tried, and the current page is in sight in the navigation',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const { page, problems } = await newPage(await openBrowser(t))
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${service.url}/docs/api/learn`)
    const first = page.locator('.code').first()
    await first.getByRole('button', { name: /Copy/ }).click()
    await first.getByText('Copied').waitFor()
    assert.match(await page.evaluate<string>('navigator.clipboard.readText()'), /^curl -sS \S+$/)

    const form = page.locator('form[data-try="/packages/index.json"]')
    await page.locator('details.api-try', { has: form }).getByText('Try it').click()
    await form.getByRole('button', { name: 'Send request' }).click()
    await form.getByText('"packages"').waitFor()
    assert.match(await form.locator('pre').innerText(), /^200 OK/)

    await page.setViewportSize({ width: 1280, height: 600 })
    for (const path of ['/docs/owners', '/docs/performance', '/docs/api/operate']) {
      await page.goto(service.url + path)
      const box = await page.locator('nav [aria-current=page]').boundingBox()
      assert.ok(box !== null && box.y > 0 && box.y + box.height < 600, path)
    }
    assert.deepEqual(problems, [])
  },
)
