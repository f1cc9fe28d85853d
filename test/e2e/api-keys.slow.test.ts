import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedApiKey } from '@countersign/protocol'
import { startReceiver } from '../../packages/server/test/webhooks/support/receiver.ts'
import { jsonOf } from '../support/answer.ts'
import { ask } from '../support/ask.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openAsOwner, openWithCookie, untilHeading } from '../support/dashboard.ts'
import { startTestService } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('an owner creates, uses and revokes an API key, shown once', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)
  await page.goto(`${service.url}/dashboard/account/developers`)
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

test(
  'an owner who revokes an API key disables the webhooks that it created',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
    const receiver = await startReceiver(t)
    const scopes = ['webhooks:write']
    const key = jsonOf<CreatedApiKey>(
      await owner.post('/api/account/api-keys', { name: 'CI', scopes }),
    )
    const added = await ask(service, '/api/account/webhooks', {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url }),
    })
    assert.equal(added.status, 201, added.text)

    const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/account/developers`)
      await page.getByRole('button', { name: 'Revoke CI' }).click()
      await page.getByText(receiver.url).waitFor()
    })
    assert.ok(await page.getByRole('checkbox', { name: 'Disable these endpoints too' }).isChecked())
    await page.getByRole('button', { name: 'Revoke the API key' }).click()
    await page.getByText('No API keys yet.').waitFor()

    await page.goto(`${service.url}/dashboard/webhooks`)
    await page.getByText('Disabled').waitFor()
    await page.getByRole('link', { name: receiver.url }).click()
    await assertFit(page, async () => {
      await page.reload()
      await page.getByText('You revoked the API key that created it').waitFor()
    })
    await page.goto(`${service.url}/dashboard/activity`)
    await page.getByText(/^Webhook endpoint at localhost:\d+ added with an API key\.$/).waitFor()
    await page.goto(`${service.url}/dashboard/notifications`)
    await page.getByText(/An API key did this\. If this was not you/).waitFor()
    assert.deepEqual(problems, [])
  },
)

test(
  'an owner whose sign-in is older confirms it before a webhook is added',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner('ada')
    const earlier = await signIn(service, ownerId, Date.now() - 11 * 60_000)
    const receiver = await startReceiver(t)
    const { page } = await openWithCookie(await openBrowser(t), service, earlier)
    for (const [path, open, label, value, submit] of [
      ['webhooks', 'Add an endpoint', 'URL', receiver.url, 'Add the endpoint'],
      ['grant-issuers', 'Create a grant issuer', 'Name', 'Shop', 'Create the grant issuer'],
    ] as const) {
      await page.goto(`${service.url}/dashboard/${path}`)
      await page.getByRole('button', { name: open }).click()
      await page.getByLabel(label, { exact: true }).fill(value)
      await page.getByRole('button', { name: submit }).click()
      await page.getByRole('heading', { name: 'Sign in again to continue' }).waitFor()
    }
  },
)
