import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFitsScaled,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'

function caller(page: Page, name: string) {
  return page.locator(`#caller-${name} summary`)
}

async function assertFits(page: Page): Promise<void> {
  await assertAccessible(page)
  await assertNoSidewaysScroll(page)
}

test('the console answers while somebody types, without a reload', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const browser = await openBrowser(t)
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 360],
  ] as const) {
    const { page, problems } = await newPage(browser, { colorScheme, width })
    await page.goto(`${service.url}/console`)
    await page.evaluate('window.isSame = true')
    await caller(page, 'header').filter({ hasText: 'Refused, 401' }).waitFor()
    const policy = page.getByLabel('Policy', { exact: true })

    // A mistake is at its line. What was decided before stays in view.
    await policy.fill('{\n  "requireProof": "yes",\n  "mode": "enforce"\n}')
    await page.getByText('requireProof must be true or false.').waitFor()
    assert.equal(
      await page.locator('#policy-lines [data-fault]').innerText(),
      '  "requireProof": "yes",',
    )
    assert.equal(await policy.getAttribute('aria-invalid'), 'true')
    assert.ok(await caller(page, 'header').isVisible())
    await assertFits(page)
    await page.getByRole('link', { name: 'Line 2' }).click()
    const selected =
      'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)'
    assert.equal(await page.evaluate(selected), '  "requireProof": "yes",')

    // The selected line is replaced. The name of a field is completed by the keyboard.
    await page.keyboard.type('  "m')
    const options = page.getByRole('listbox', { name: 'Fields' }).getByRole('option')
    await options.first().waitFor()
    await page.keyboard.press('ArrowDown')
    assert.match(await options.nth(1).innerText(), /^minimumGrade/)
    assert.equal(await options.nth(1).getAttribute('aria-selected'), 'true')
    await page.keyboard.press('Enter')
    await page.keyboard.type(',')
    assert.equal(await policy.inputValue(), '{\n  "minimumGrade": "B",\n  "mode": "enforce"\n}')
    await page.getByText('This configuration admits impostors.').waitFor()
    assert.equal(await policy.getAttribute('aria-invalid'), 'false')
    await caller(page, 'header').filter({ hasText: 'Allowed, unproven' }).waitFor()
    await assertFits(page)

    // The open tab and opened details stay.
    await page.getByText('Next.js').click()
    await caller(page, 'stranger').click()
    await page.getByRole('button', { name: 'Open reads, signed writes' }).click()
    await caller(page, 'stranger')
      .filter({ hasText: /GET allowed.*POST refused, 401/ })
      .waitFor()
    assert.match(await policy.inputValue(), /"methods": \["GET"\]/)
    assert.ok(await page.getByText('export { hello as GET').isVisible())
    assert.ok(await page.getByText('(no-identification)').first().isVisible())
    await assertFits(page)

    await page.getByText('Try an agent of yours').click()
    await page.getByLabel('Agent', { exact: true }).fill(did)
    await caller(page, 'agent').filter({ hasText: 'Allowed' }).waitFor()
    await page.getByLabel('The service has become unreachable').check()
    await caller(page, 'agent').filter({ hasText: 'Refused, 503' }).waitFor()
    assert.equal(await page.evaluate('window.isSame'), true)

    // The address is that of the state.
    await page.reload()
    await caller(page, 'agent').filter({ hasText: 'Refused, 503' }).waitFor()
    assert.ok(await page.getByText('export { hello as GET').isVisible())
    assert.deepEqual(problems, [])
    await page.context().close()
  }
})

test('the console answers without JavaScript', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page, problems } = await newPage(browser, { javaScript: false, width: 360 })
  await page.goto(`${service.url}/console`)
  await page.getByLabel('Policy', { exact: true }).fill('{ "requireProof": true,\n"mode": "hide" }')
  // The Enter key sends the form; it does not choose a preset.
  await page.getByLabel('Origin of your site').press('Enter')
  await page.getByText('mode must be enforce or shadow.').waitFor()
  await page.getByRole('button', { name: 'Watch only' }).click()
  await caller(page, 'header').filter({ hasText: 'Would refuse, 401' }).waitFor()
  assert.equal(page.url(), `${service.url}/console`, 'no input is in the address')
  await page.getByText('Proxy', { exact: true }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download gateway.json' }).click()
  const download = await downloading
  assert.equal(download.suggestedFilename(), 'gateway.json')
  const saved = JSON.parse(readFileSync(await download.path(), 'utf8'))
  assert.deepEqual(saved.policy, { mode: 'shadow', requireProof: true })
  await assertNoSidewaysScroll(page)
  await page.getByRole('link', { name: 'Link to this state' }).click()
  await caller(page, 'header').filter({ hasText: 'Would refuse, 401' }).waitFor()
  assert.deepEqual(problems, [])
})

test('the console fits with text of 200 %, and on 320 pixels', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page } = await newPage(browser, { width: 320 })
  for (const path of ['/console', '/console?policy={"mode":1}']) {
    await assertFitsScaled(page, service.url + path)
  }
})
