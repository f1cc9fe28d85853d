import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { assertFit, newPage, openBrowser } from '../../../../test/support/browser.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { BROWSER } from '../../../../test/support/tools.ts'

test(
  'on the start page, a request of the sample is signed and checked, and a revocation turns its card red and refuses it',
  BROWSER,
  async (t) => {
    const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
    const { page, problems } = await newPage(await openBrowser(t))
    const sent: string[] = []
    page.on('request', (request) => sent.push(new URL(request.url()).pathname))
    await page.goto(service.url)
    const sample = page.locator('[data-sample]')
    const borderOf = () =>
      page.evaluate<string>(
        "getComputedStyle(document.querySelector('[data-status]:not([hidden]) article')).borderTopColor",
      )
    assert.ok(!sent.some((path) => path.includes('sample-agent')), 'what signs is loaded later')
    const active = await borderOf()

    await sample.getByRole('button', { name: 'Send a signed request' }).click()
    await sample.getByText('Admitted: the agent holds its key').waitFor()
    const first = await sample.locator('pre').innerText()
    for (const line of [
      /^GET \/orders\?draft=1$/m,
      /^AcmeID: acme:agent:1{24}$/m,
      /^signature-input: sig1=\("@method" .*;tag="web-bot-auth"$/m,
      /^signature: sig1=:[\w+/]{86}==:$/m,
    ])
      assert.match(first, line)
    await sample.getByText('200', { exact: true }).waitFor()

    await sample.getByRole('button', { name: 'Revoke' }).click()
    await sample.getByText('Refused: the agent holds its key').waitFor()
    await sample.getByText('403 revoked').waitFor()
    await sample.getByText('Revoked', { exact: true }).waitFor()
    assert.notEqual(await borderOf(), active)
    await assertFit(page, async () => undefined)

    await sample.getByRole('button', { name: 'Start over' }).click()
    await sample.getByText('Admitted: the agent holds its key').waitFor()
    await sample.getByText('Active', { exact: true }).waitFor()
    assert.ok(!sent.some((path) => path.startsWith('/api/') || path.startsWith('/orders')))
    assert.deepEqual(problems, [])
  },
)

test('without JavaScript, the start page shows the sample card alone', BROWSER, async (t) => {
  const service = await startTestService(t)
  const { page } = await newPage(await openBrowser(t), { javaScript: false })
  await page.goto(service.url)
  const sample = page.locator('[data-sample]')
  assert.match(await sample.innerText(), /Sample agent.*Active.*The agent does not exist/s)
  assert.equal(await sample.getByRole('button').count(), 0)
  assert.equal(await sample.locator('article:visible').count(), 1)
})

test('the start page has a preview image of 1200 by 630 pixels', async (t) => {
  const service = await startTestService(t, { SERVICE_NAME: '登録所 & Co' })
  const response = await fetch(`${service.url}/preview.png`)
  assert.equal(response.headers.get('content-type'), 'image/png')
  const { width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata()
  assert.deepEqual([width, height], [1200, 630])
})
