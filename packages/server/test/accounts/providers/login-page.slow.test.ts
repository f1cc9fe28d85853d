import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, newPage, openBrowser } from '../../../../../test/support/browser.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../../test/support/tools.ts'
import { beginIdentity, signInNewcomer } from '../../../../../test/support/verify-identity.ts'

test(
  'the login page for development works in a browser, by keyboard, in both themes',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const browser = await openBrowser(t)
    for (const colorScheme of ['light', 'dark'] as const) {
      const owner = await signInNewcomer(service)
      const { browser: agent, redirect } = await beginIdentity(owner, 'dev-substantial')
      const { page, problems } = await newPage(browser, { colorScheme, width: 360 })
      const cookies = agent.cookie.split('; ').map((each) => {
        const at = each.indexOf('=')
        return { name: each.slice(0, at), value: each.slice(at + 1), url: service.url }
      })
      await page.context().addCookies(cookies)

      await page.goto(redirect)
      assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), await page.title())
      await assertAccessible(page)
      assert.deepEqual(problems, [])
      // The field has the focus, and the strict form-action allows the redirect after the form.
      await page.keyboard.type(`Ada ${colorScheme}`)
      await page.keyboard.press('Enter')
      await page.waitForURL('**/dashboard/**')

      const { pathname, searchParams } = new URL(page.url())
      assert.equal(pathname, '/dashboard/identity', page.url())
      assert.equal(searchParams.get('verified'), 'dev-substantial')
    }
  },
)
