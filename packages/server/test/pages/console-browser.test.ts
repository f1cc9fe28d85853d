import assert from 'node:assert/strict'
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
    await page.getByRole('button', { name: 'Decide and show configuration' }).click()
    await page.getByText('Allowed', { exact: true }).waitFor()
    assert.equal(page.url(), `${service.url}/console#result`)
    assert.equal(await page.getByLabel('Proof of possession').first().inputValue(), 'true')
    await page.getByText('nginx, Caddy, Traefik, HAProxy, Envoy').click()
    await page.getByText('"requireProof": true').waitFor()
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
