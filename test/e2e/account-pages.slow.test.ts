import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import {
  openAsNewcomer,
  openAsOwner,
  signUp,
  untilFocused,
  untilHeading,
} from '../support/dashboard.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('the header leads to the site, and the account has a menu', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/account`)
  const menu = page.getByRole('navigation', { name: 'Account' })
  for (const [tab, section] of [
    ['Security', 'Passkeys'],
    ['Notifications', 'E-mail'],
    ['Developers', 'API keys'],
    ['Data', 'Delete account'],
    ['Profile', 'Profile'],
  ] as const) {
    await menu.getByRole('link', { name: tab }).click()
    await page.getByRole('heading', { level: 2, name: section }).waitFor()
    await page.getByRole('region', { name: `${tab} tab` }).waitFor()
    assert.match(await page.title(), new RegExp(`^${tab} · Account`))
  }
  for (const [place, heading] of [
    ['Check', 'Check an agent'],
    ['Docs', /./],
  ] as const) {
    await page.goto(`${service.url}/dashboard/account`)
    const site = page.getByRole('navigation', { name: 'Site' })
    await site.getByRole('link', { name: place }).click()
    await page.waitForURL(`**/${place.toLowerCase()}`)
    await untilHeading(page, heading)
  }
  assert.deepEqual(problems, [])
})

test('the menu of the owner stays in the window, whatever its size', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/account`)
  const button = page.getByRole('button', { name: 'Owner ada' })
  await button.click()
  const menu = page.locator(`[id="${await button.getAttribute('aria-controls')}"]`)
  for (const { width, height, fontSize } of [
    { width: 320, height: 640, fontSize: '100%' },
    { width: 640, height: 480, fontSize: '200%' },
    { width: 1280, height: 720, fontSize: '200%' },
  ]) {
    await page.setViewportSize({ width, height })
    await page.evaluate(`document.documentElement.style.fontSize = '${fontSize}'`)
    const box = await menu.boundingBox()
    assert.ok(box !== null)
    assert.ok(box.x >= 0 && box.x + box.width <= width, `${JSON.stringify(box)} in ${width}`)
    // On narrow screens, it has the links that the header has no place for.
    const isNarrow = width < 640
    assert.equal(await menu.getByRole('link', { name: 'Docs' }).isVisible(), isNarrow)
    const last = menu.getByRole('button', { name: 'Sign out' })
    await last.scrollIntoViewIfNeeded()
    const end = await last.boundingBox()
    assert.ok(end !== null && end.y >= 0 && end.y + end.height <= height, JSON.stringify(end))
  }
  assert.deepEqual(problems, [])
})

test(
  'the first step leads to the identity providers, and on their page it leads nowhere',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const { page, problems } = await openAsNewcomer(await openBrowser(t))
    await signUp(page, service.url, 'ada')
    await page.goto(`${service.url}/dashboard/agents`)
    const steps = page.getByRole('complementary', { name: 'First steps' })
    const link = steps.getByRole('link', { name: 'Verify your identity' })
    await link.click()
    await untilHeading(page, 'Identity')
    await page.getByRole('row', { name: /High assurance/ }).waitFor()
    assert.equal(await link.count(), 0)
    await steps.getByRole('listitem').filter({ hasText: 'Verify your identity' }).waitFor()
    assert.deepEqual(problems, [])
  },
)

test('deleting an account ends with a message', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  await claimAgent(service, owner)
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/account/data`)
  await page.getByRole('button', { name: 'Delete account …' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByLabel(/^Type your username/).fill('ada')
  await dialog.getByRole('button', { name: 'Delete account', exact: true }).click()
  await untilHeading(page, 'Sign in')
  const message = page.getByRole('status').filter({ hasText: 'Your account is deleted.' })
  await message.getByText('Your agent is revoked permanently.').waitFor()
  await page.goto(`${service.url}/dashboard/agents`)
  await untilHeading(page, 'Sign in')
  assert.equal(await page.getByText('Your account is deleted.').count(), 0)
  assert.deepEqual(problems, [])
})

test('a toast does not cover what it is about', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner, { width: 360 })
  await page.goto(`${service.url}/dashboard/account`)
  for (const height of [700, 1400]) {
    await page.setViewportSize({ width: 360, height })
    await page.getByLabel('Your name').fill(`Ada of ${height}`)
    const save = page.getByRole('button', { name: 'Save profile' })
    await save.click()
    const toast = page.getByRole('dialog').filter({ hasText: 'Profile saved.' }).last()
    await toast.waitFor()
    await assertApart(page, `Ada of ${height}`)
  }
  assert.deepEqual(problems, [])
})

/** Asserts that no toast lies over the button that was used. */
async function assertApart(page: Page, name: string): Promise<void> {
  await untilFocused(page, /^Save profile$/)
  const used = await page.getByRole('button', { name: 'Save profile' }).boundingBox()
  assert.ok(used !== null)
  for (const toast of await page.getByText('Profile saved.', { exact: true }).all()) {
    const box = await toast.boundingBox()
    if (box === null) continue
    const isApart = box.y + box.height < used.y || box.y > used.y + used.height
    assert.ok(isApart, `${name}: ${JSON.stringify([box, used])}`)
  }
}
