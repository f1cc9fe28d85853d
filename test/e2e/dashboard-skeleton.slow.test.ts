import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeContext, newPage, openBrowser } from '../support/browser.ts'
import { openAsOwner, untilHeading } from '../support/dashboard.ts'
import { startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const GROUND = 'getComputedStyle(document.body).backgroundColor'
const LIGHT = 'rgb(246, 245, 241)'
const DARK = 'rgb(17, 20, 15)'

test(
  'before its scripts arrive, the dashboard shows its header and a skeleton, in the chosen theme',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t, { SERVICE_NAME: 'Acme & Sons' })
    const browser = await openBrowser(t)
    const owner = await service.operator.addVerifiedOwner('ada')
    for (const { path, colorScheme, chosen, ground } of [
      { path: '/agents', colorScheme: 'light', chosen: null, ground: LIGHT },
      { path: '/agents', colorScheme: 'dark', chosen: null, ground: DARK },
      { path: '/agents', colorScheme: 'light', chosen: 'dark', ground: DARK },
      { path: '/sign-in', colorScheme: 'dark', chosen: 'light', ground: LIGHT },
    ] as const) {
      await t.test(`${path}, ${colorScheme}, ${chosen}`, async () => {
        const { page, problems } = await openAsOwner(browser, service, owner, { colorScheme })
        if (chosen !== null) await page.addInitScript(`localStorage.setItem('theme', '${chosen}')`)
        const held = Promise.withResolvers<void>()
        await page.route(/\/assets\/(?!first-theme).*\.js$/, async (route) => {
          await held.promise
          await route.continue()
        })
        await page.goto(`${service.url}/dashboard${path}`, { waitUntil: 'commit' })
        const header = page.locator('#root header')
        await header.getByText('Acme & Sons').waitFor()
        await header.getByText('Development only').waitFor()
        await page.getByText('Loading the page …').waitFor({ state: 'attached' })
        assert.equal(await page.evaluate(GROUND), ground)
        const height = (await header.boundingBox())?.height ?? 0
        held.resolve()
        await untilHeading(page, path === '/agents' ? 'Agents' : 'Sign in')
        assert.equal(await page.evaluate(GROUND), ground)
        const loaded = (await page.locator('header').first().boundingBox())?.height ?? 0
        assert.ok(Math.abs(loaded - height) <= 1, `the header grows from ${height} to ${loaded}`)
        assert.deepEqual(problems, [])
        await closeContext(page.context())
      })
    }
    const { page } = await newPage(browser, { javaScript: false })
    await page.goto(`${service.url}/dashboard/agents`)
    await page.locator('noscript p').first().waitFor()
    assert.equal(await page.getByText('Loading the page …').isVisible(), false)
  },
)
