import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { newPage, openBrowser } from '../../../../test/support/browser.ts'
import { openAsOwner } from '../../../../test/support/dashboard.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { BROWSER } from '../../../../test/support/tools.ts'

/** Most bytes on the wire, headers included: of all that a page loads, and of its scripts. */
const MOST: Readonly<Record<string, { readonly all: number; readonly script: number }>> = {
  start: { all: 125_000, script: 4_000 },
  certificate: { all: 125_000, script: 2_000 },
  'signed request': { all: 160_000, script: 4_000 },
  dashboard: { all: 310_000, script: 180_000 },
}

test(
  'the start page, a certificate, a checked request and the dashboard are small on the wire',
  BROWSER,
  async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('ada')
    const did = await claimAgent(service, owner)
    const browser = await openBrowser(t)
    const weights = {
      start: await weightOf((await newPage(browser)).page, service.url),
      certificate: await weightOf((await newPage(browser)).page, `${service.url}/agent/${did}`),
      'signed request': await weightOf(
        (await newPage(browser)).page,
        `${service.url}/check/request`,
      ),
      dashboard: await weightOf(
        (await openAsOwner(browser, service, owner)).page,
        `${service.url}/dashboard`,
      ),
    }
    for (const [name, { all, script }] of Object.entries(weights))
      t.diagnostic(`${name}: ${all} bytes, of which ${script} are scripts`)
    for (const [name, { all, script }] of Object.entries(weights)) {
      const most = MOST[name]
      assert.ok(all <= (most?.all ?? 0), `${name}: ${all} bytes`)
      assert.ok(script <= (most?.script ?? 0), `${name}: ${script} bytes of scripts`)
    }
  },
)

/** Loads a page with an empty cache. @returns the bytes of its responses, headers included */
async function weightOf(page: Page, url: string): Promise<{ all: number; script: number }> {
  const sizes: Promise<{ size: number; isScript: boolean }>[] = []
  const weigh = (request: Request) => {
    const isScript = request.resourceType() === 'script'
    const size = request
      .sizes()
      .then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize)
    sizes.push(size.then((each) => ({ size: each, isScript })))
  }
  page.on('requestfinished', weigh)
  await page.goto(url)
  // The dashboard holds a stream open, so its network is never idle.
  await page.getByRole('heading', { level: 1 }).waitFor()
  // The size of a later request would be asked for while the page is closed, and fail after the test.
  page.off('requestfinished', weigh)
  const all = await Promise.all(sizes)
  const sum = (of: typeof all) => of.reduce((total, { size }) => total + size, 0)
  return { all: sum(all), script: sum(all.filter(({ isScript }) => isScript)) }
}
