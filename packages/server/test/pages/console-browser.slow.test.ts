import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  assertAccessible,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'

test('the console decides in a browser, with and without JavaScript', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const browser = await openBrowser(t)
  for (const [javaScript, colorScheme, width] of [
    [true, 'light', 1280],
    [true, 'dark', 360],
    [false, 'light', 360],
  ] as const) {
    const { page, problems } = await newPage(browser, { javaScript })
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await page.goto(`${service.url}/console`)
    await assertNoSidewaysScroll(page)
    await page.getByLabel('Agent', { exact: true }).fill(did)
    await page.getByLabel('Proof of possession').first().selectOption('true')
    await page.getByRole('button', { name: 'Add route' }).click()
    await page.getByRole('region', { name: 'Route 1' }).getByLabel('Path').fill('orders')
    // The Enter key decides; it does not press a button that changes the form.
    await page.getByLabel('Origin of your site').press('Enter')
    await page.getByText('The policy is not valid').waitFor()
    await page.getByRole('link', { name: 'Route 1, path' }).click()
    await page.getByText('“orders” must be /exact').last().waitFor()
    await assertNoSidewaysScroll(page)
    if (javaScript) await assertAccessible(page)
    await page.getByRole('button', { name: 'Add route' }).click()
    await page.getByRole('region', { name: 'Route 2' }).getByLabel('Path').fill('/first')
    await page.getByRole('button', { name: 'Move Route 2 up' }).click()
    const path = page.getByRole('region', { name: 'Route 1' }).getByLabel('Path')
    assert.equal(await path.inputValue(), '/first')
    assert.equal(page.url(), `${service.url}/console#routes-0`)
    for (const _ of [1, 2]) await page.getByRole('button', { name: 'Remove Route 1' }).click()
    await page.getByRole('button', { name: 'Decide and show configuration' }).click()
    await page.getByText('Allowed', { exact: true }).waitFor()
    assert.equal(page.url(), `${service.url}/console#result`)
    assert.equal(await page.getByLabel('Proof of possession').first().inputValue(), 'true')
    await page.getByText('nginx, Caddy, Traefik, HAProxy, Envoy').click()
    await page.getByText('"requireProof": true').waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download gateway.json' }).click()
    const download = await downloading
    assert.equal(download.suggestedFilename(), 'gateway.json')
    const saved = JSON.parse(readFileSync(await download.path(), 'utf8'))
    assert.deepEqual(saved.policy, { requireProof: true })
    if (javaScript) {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.getByRole('button', { name: 'Copy the code' }).last().click()
      await page.getByRole('button', { name: 'Copied the code' }).waitFor()
      const file = JSON.parse(String(await page.evaluate('navigator.clipboard.readText()')))
      assert.deepEqual(file.policy, { requireProof: true })
      await assertAccessible(page)
    }
    await assertNoSidewaysScroll(page)
    assert.deepEqual(problems, [])
    await page.context().close()
  }
})
