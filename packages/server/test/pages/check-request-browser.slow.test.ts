import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFitsScaled,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'
import { rawRequest, URL_OF_ORDERS as url } from './support/check-request.ts'

/** Each way to break the sample, and the check that notices it. */
const BREAKS = [
  ['Change the path', 'signature'],
  ['Age it', 'times'],
  ['Replay it', 'nonce'],
  ['Add a header', 'components'],
  ['Swap the key', 'signature'],
] as const

/** A service whose clock stands still, so that no signature expires meanwhile. */
async function startFixedService(t: Parameters<typeof startTestService>[0]) {
  const now = Date.now()
  return { service: await startTestService(t, {}, () => now), createdAt: now }
}

/** The same for the clock of the page. */
async function stopClock(page: Page): Promise<void> {
  await page.addInitScript('globalThis.setInterval = () => 0')
}

async function assertFits(page: Page): Promise<void> {
  await assertAccessible(page)
  await assertNoSidewaysScroll(page)
}

function verdict(page: Page) {
  return page.getByRole('status')
}

test(
  'the sample is verified, and each button turns a check red without a reload',
  BROWSER_MATRIX,
  async (t) => {
    const { service } = await startFixedService(t)
    const browser = await openBrowser(t)
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      const { page, problems } = await newPage(browser, { colorScheme, width })
      await stopClock(page)
      await page.goto(`${service.url}/check/request`)
      await page.evaluate('window.isSame = true')
      await verdict(page).getByText('Verified', { exact: true }).waitFor()
      await assertFits(page)
      for (const [name, check] of BREAKS) {
        await page.getByRole('button', { name }).click()
        await page.getByRole('button', { name, pressed: true }).waitFor()
        await verdict(page).getByText('Refuse this request.').waitFor()
        assert.equal(
          await page.locator('[data-outcome=failed]').getAttribute('id'),
          `check-${check}`,
        )
        await assertFits(page)
      }
      await page.getByRole('button', { name: 'As received' }).click()
      await verdict(page).getByText('Verified', { exact: true }).waitFor()
      assert.equal(await page.evaluate('window.isSame'), true)
      assert.equal(page.url(), `${service.url}/check/request`, 'no input is in the address')
      assert.deepEqual(problems, [])
    }
  },
)

test(
  'the clock runs, and the sample turns red when its signature ends',
  BROWSER_MATRIX,
  async (t) => {
    let ahead = 0
    const service = await startTestService(t, {}, () => Date.now() + ahead)
    const browser = await openBrowser(t)
    const { page, problems } = await newPage(browser)
    await page.clock.install()
    await page.goto(`${service.url}/check/request`)
    const clock = page.locator('[data-clock]')
    const first = await clock.innerText()
    await page.clock.runFor(10_000)
    const later = await clock.innerText()
    const seconds = (text: string) => Date.parse(`2026-01-01T${text}Z`) / 1000
    // Time goes on by itself too.
    assert.ok((seconds(later) - seconds(first) + 86_400) % 86_400 >= 10)
    ahead = 61_000
    await page.clock.runFor(60_000)
    await page.locator('#check-times[data-outcome=failed]').waitFor()
    await verdict(page).getByText('The signature has expired.').waitFor()
    await page.getByRole('link', { name: 'New sample' }).click()
    await verdict(page).getByText('Verified', { exact: true }).waitFor()
    assert.deepEqual(problems, [])
  },
)

test(
  'a request that is pasted is checked while somebody types; the signature base is copied; a link has no secrets',
  BROWSER_MATRIX,
  async (t) => {
    const { service, createdAt } = await startFixedService(t)
    const key = newKey()
    const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
    const body = 'secret-body'
    const headers = await signedHeaders(service, did, key, { method: 'POST', url, body, createdAt })
    const cookie = ['Cookie', 'secret-cookie'] as const
    const browser = await openBrowser(t)
    const { page, problems } = await newPage(browser)
    await stopClock(page)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${service.url}/check/request`)
    const request = page.getByLabel('Paste a request')
    await request.fill('X-Test: 1')
    await verdict(page).getByText('Cannot be checked').waitFor()
    await page.getByLabel('Method and URL').waitFor()
    assert.ok(await page.getByText('Enter the method and the URL').first().isVisible())
    await assertFits(page)
    await request.fill(rawRequest([...headers, cookie], { method: 'POST', body }))
    await page.getByRole('link', { name: did }).waitFor()
    await page.getByRole('button', { name: 'Copy the signature base' }).click()
    await page.getByRole('button', { name: 'Copied the signature base' }).waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.match(
      copied,
      /^"@method": POST\n"@authority": shop\.example\n[\s\S]*"@signature-params": /,
    )
    await page.getByText('It leaves out Cookie and the body.').waitFor()
    await page.getByRole('button', { name: 'Change the path' }).click()
    await verdict(page).getByText('Refuse this request.').waitFor()

    const link = page.getByRole('link', { name: 'Link to this case' })
    assert.doesNotMatch((await link.getAttribute('href')) ?? '', /secret-/)
    await link.click()
    await page.waitForURL(/break=path/)
    assert.equal(await page.locator('[data-outcome=failed]').getAttribute('id'), 'check-signature')
    assert.doesNotMatch(await page.content(), /secret-/)
    await assertFits(page)
    assert.deepEqual(problems, [])
  },
)

test('without script the form checks, breaks and links', BROWSER_MATRIX, async (t) => {
  const { service } = await startFixedService(t)
  const browser = await openBrowser(t)
  const { page, problems } = await newPage(browser, { javaScript: false })
  await page.goto(`${service.url}/check/request`)
  const request = page.getByLabel('Paste a request')
  const sample = await request.inputValue()
  for (const [name, check] of BREAKS) {
    await page.getByRole('button', { name }).click()
    await page.getByRole('button', { name, pressed: true }).waitFor()
    assert.equal(await page.locator('[data-outcome=failed]').getAttribute('id'), `check-${check}`)
    assert.equal(await request.inputValue(), sample)
  }
  await request.fill(sample.replace('teapot', 'kettle'))
  await page.getByRole('button', { name: 'Check request' }).click()
  await page.locator('#check-body[data-outcome=failed]').waitFor()
  await page.getByRole('link', { name: 'Link to this case' }).click()
  await verdict(page).getByText('Verified', { exact: true }).waitFor()
  assert.doesNotMatch(await page.content(), /kettle/)
  await page.getByLabel('Time of the check').fill('yesterday')
  // The Enter key checks; it does not break the request.
  await page.getByLabel('Time of the check').press('Enter')
  await verdict(page).getByText('Enter a time in UTC').waitFor()
  assert.ok(await page.getByLabel('Time of the check').isVisible())
  assert.deepEqual(problems, [])
})

test('the page fits with text of 200 %, and on 320 pixels', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page } = await newPage(browser, { width: 320 })
  const long = new URLSearchParams({
    request: `GET https://${'long-'.repeat(12)}name.example/${'w'.repeat(300)}\n${'X'.repeat(200)}: ${'y'.repeat(200)}`,
  })
  for (const path of ['/check/request', `/check/request?${long}`, '/check/request?request=GET']) {
    await assertFitsScaled(page, service.url + path)
  }
})
