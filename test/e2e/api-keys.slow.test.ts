import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { openAsOwner, untilHeading } from '../support/dashboard.ts'
import { startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('an owner creates, uses and revokes an API key, shown once', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)
  await page.goto(`${service.url}/dashboard/account`)
  await untilHeading(page, 'Account')
  await page.getByRole('button', { name: 'Create an API key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Deployment')
  await page.getByRole('checkbox', { name: /Create claim tokens/ }).check()
  await page.getByLabel('Expires after').selectOption('30')
  await page.getByRole('button', { name: 'Create the API key' }).click()
  const secret = page.getByText(/^svc-key-[0-9a-f]{32}$/)
  await secret.waitFor()
  const key = (await secret.textContent()) as string
  const status = async () => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`${service.url}/api/account/agents`, { headers })).status
  }
  assert.equal(await status(), 200)

  await page.getByRole('button', { name: 'I have stored it' }).click()
  const item = page.getByRole('listitem', { name: /Deployment/ })
  await item.waitFor()
  assert.match(await item.innerText(), new RegExp(`…${key.slice(-4)}`))
  assert.ok(!(await page.content()).includes(key))
  await page.getByRole('button', { name: 'Revoke Deployment' }).click()
  await page.getByRole('button', { name: 'Revoke the API key' }).click()
  await page.getByText('No API keys yet.').waitFor()
  assert.equal(await status(), 401)
  await page.goto(`${service.url}/dashboard/activity`)
  await page.getByText('API key created. Scopes: ').waitFor()
  await page.getByText('API key revoked. Scopes: ').waitFor()
  await page.getByText('Identity verified by In person.').waitFor()
  assert.deepEqual(problems, [])
})
