import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../../test/support/browser.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { BROWSER } from '../../../../../test/support/tools.ts'

test(
  'the start page and the documentation fit 320 pixels, and 360 with text at 200 % (WCAG 1.4.4, 1.4.10)',
  BROWSER,
  async (t) => {
    const service = await startTestService(t)
    const { page } = await newPage(await openBrowser(t))
    await page.goto(`${service.url}/docs`)
    const paths: string[] = await page.evaluate(
      `[...new Set([...document.querySelectorAll('a[href^="/docs"]')].map((each) => each.pathname))]`,
    )
    assert.ok(paths.length > 60)
    for (const path of ['/', '/docs', '/docs/search?q=how+do+I+rotate+a+key', ...paths]) {
      await page.setViewportSize({ width: 320, height: 900 })
      await page.goto(service.url + path)
      await assertNoSidewaysScroll(page)
      await page.setViewportSize({ width: 360, height: 900 })
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      await assertNoSidewaysScroll(page)
    }
  },
)
