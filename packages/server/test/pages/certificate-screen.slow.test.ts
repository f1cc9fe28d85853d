import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { publishName } from '../../../../test/support/publish-name.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'

/** The address of a certificate with everything that most have. */
async function certificate(t: TestContext): Promise<string> {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const did = await claimAgent(service, owner)
  await giveProfile(service, did, {
    displayName: 'Travel assistant',
    description: 'Books trains and hotels, and pays up to 500 euros.',
    channels: [
      { kind: 'domain', handleOrDomain: 'shop.example', tier: 2 },
      { kind: 'github', handleOrDomain: 'shopper', tier: 1 },
    ],
  })
  await publishName(service, owner, 'Ada Lovelace', did)
  return `${service.url}/agent/${did}`
}

test(
  'the first screen of a small phone has the owner, the agent, the seal and the check',
  BROWSER_MATRIX,
  async (t) => {
    const url = await certificate(t)
    const { page } = await newPage(await openBrowser(t))
    await page.setViewportSize({ width: 360, height: 640 })
    await page.goto(url)
    for (const each of [
      page.getByText('Run by Ada Lovelace'),
      page.getByRole('heading', { level: 1, name: 'Travel assistant' }),
      page.getByRole('img', { name: 'Grade A' }),
      page.getByRole('link', { name: 'Is this the agent I am talking to?' }),
    ]) {
      const box = await each.boundingBox()
      assert.ok(box !== null && box.y + box.height <= 640, `${each} ends at ${box?.y}`)
    }
    await page.getByRole('link', { name: 'Is this the agent I am talking to?' }).click()
    await page.waitForURL('**/check?agent=*')
    await page.getByRole('status').getByText('This certificate is valid.').waitFor()
  },
)

const fold = (page: Page) => page.locator('#developers')
const isOpen = async (page: Page) => (await fold(page).getAttribute('open')) !== null

test(
  'the part for developers is folded, and a link into it opens it',
  BROWSER_MATRIX,
  async (t) => {
    const url = await certificate(t)
    const browser = await openBrowser(t)
    for (const javaScript of [true, false]) {
      const { page, problems } = await newPage(browser, { javaScript })
      await page.goto(url)
      const { height = 0 } = (await page.locator('body').boundingBox()) ?? {}
      assert.ok(height > 0 && height < 2000, `${height}`)
      assert.equal(await isOpen(page), false)
      await fold(page).locator('summary').first().focus()
      await page.keyboard.press('Enter')
      assert.equal(await isOpen(page), true, 'by keyboard')
      for (const id of ['key', 'check', 'signed', 'log', 'links']) {
        await page.goto('about:blank')
        await page.goto(`${url}#${id}`)
        await page.locator(`#${id}`).waitFor({ state: 'visible' })
      }
      assert.deepEqual(problems, [])
    }
  },
)

test(
  'the opened page is accessible and fits, also with text of twice the size',
  BROWSER_MATRIX,
  async (t) => {
    const url = await certificate(t)
    const { page, problems } = await newPage(await openBrowser(t))
    for (const [width, colorScheme, size] of [
      [1280, 'dark', 16],
      [320, 'light', 16],
      [1280, 'light', 32],
      [360, 'light', 32],
    ] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await page.goto(`${url}#key`)
      await page.evaluate(`document.documentElement.style.fontSize = '${size}px'`)
      await assertAccessible(page)
      await assertNoSidewaysScroll(page)
    }
    assert.deepEqual(problems, [])
  },
)
