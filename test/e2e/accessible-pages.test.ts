import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertAccessible,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../support/browser.ts'
import { openAsOwner } from '../support/dashboard.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { BROWSER } from '../support/tools.ts'

/** One page of each layout. Every page, in both themes and widths, is scanned by `npm run test:all`. */
const PUBLIC = ['/', '/check', '/docs/agents'] as const

test('axe finds nothing on a page of each layout', BROWSER, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, owner)
  const browser = await openBrowser(t)
  const visitor = await newPage(browser, { colorScheme: 'dark', width: 360 })
  const signedIn = await openAsOwner(browser, service, owner)
  const visits = [
    ...[...PUBLIC, `/agent/${did}`].map((path) => ({ path, page: visitor.page })),
    { path: `/dashboard/agents/${did}`, page: signedIn.page },
  ]
  for (const { path, page } of visits) {
    await t.test(path, async () => {
      await page.goto(service.url + path)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await assertAccessible(page)
      await assertNoSidewaysScroll(page)
    })
  }
  assert.deepEqual([...visitor.problems, ...signedIn.problems], [])
})
