import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startReceiver } from '../../packages/server/test/webhooks/support/receiver.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { dismissToast, openAsOwner, untilHeading } from '../support/dashboard.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { until, untilTicked } from '../support/until.ts'

test('an owner adds an endpoint, tests it, sees its deliveries, redelivers one, rotates the secret and deletes it', {
  ...BROWSER_MATRIX,
  timeout: 600_000,
}, async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const receiver = await startReceiver(t)
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)
  await page.goto(`${service.url}/dashboard/account/developers`)
  await page.getByRole('link', { name: 'Manage webhooks' }).click()
  await untilHeading(page, 'Webhooks')
  await page.getByText('No endpoints yet').waitFor()

  const add = page.getByRole('button', { name: 'Add an endpoint' })
  await add.click()
  await page.getByLabel('URL').fill('https://10.0.0.1/hook')
  await page.getByRole('button', { name: 'Add the endpoint' }).click()
  await page.getByText('is not the name of a host on the public internet').waitFor()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('checkbox', { name: /^All types/ }).uncheck()
  await page.getByRole('checkbox', { name: 'agent.directory_proven' }).uncheck()
  await assertFit(page, async () => undefined)
  await page.getByRole('button', { name: 'Add the endpoint' }).click()
  await untilHeading(page, 'Your new endpoint')
  const secret = (await page.getByText(/^whsec_/).textContent()) as string
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await assertFit(page, async () => {
    await page.goto(`${service.url}/dashboard/webhooks`)
    await page.getByText('Nothing delivered yet.').waitFor()
  })
  assert.ok(!(await page.content()).includes(secret))

  await page.getByRole('link', { name: receiver.url }).click()
  await untilHeading(page, `localhost:${receiver.port}`)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The endpoint has accepted the test with 204.').waitFor()
  receiver.behaviour = 500
  await claimAgent(service, ownerId)
  await untilTicked(service, async () => receiver.received.length === 2)
  await page.getByText('localhost answers with 500.').waitFor()
  await page.getByText('Retrying').waitFor()
  await assertFit(page, async () => {
    await page.reload()
    await page.getByText('Retrying').waitFor()
    await page.waitForLoadState('networkidle')
  })

  receiver.behaviour = 204
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Events wait until you activate the endpoint again.').waitFor()
  await page.getByRole('button', { name: 'Activate' }).click()
  await untilTicked(service, async () => receiver.received.length >= 3)
  await page.getByRole('link', { name: 'Delivered', exact: true }).click()
  const redeliver = page.getByRole('button', { name: /^Redeliver agent\.claimed/ })
  await redeliver.click()
  await page.getByText('The endpoint has accepted the delivery with 204.').waitFor()
  const claimed = receiver.received.filter(({ body }) => body.includes('agent.claimed'))
  assert.equal(new Set(claimed.map(({ headers }) => headers['webhook-id'])).size, 1)
  const last = claimed.at(-1)
  assert.ok(last)
  new Webhook(secret).verify(last.body, last.headers as Record<string, string>)

  await dismissToast(page, 'The endpoint has accepted the delivery with 204.')
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByText('For 24 hours, deliveries are signed with both secrets.').waitFor()
  await assertFit(page, async () => undefined)
  await page.getByRole('button', { name: 'Rotate the secret' }).click()
  await untilHeading(page, 'Your new secret')
  const rotated = (await page.getByText(/^whsec_/).textContent()) as string
  assert.notEqual(rotated, secret)
  await page.getByText('Deliveries are signed with the previous secret too until').waitFor()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByText('Signs too until').waitFor()
  assert.ok(!(await page.content()).includes(rotated))
  await page.getByRole('button', { name: 'Send a test' }).click()
  const tested = () => receiver.received.findLast(({ body }) => body.includes('webhook.test'))
  await until(async () => String(tested()?.headers['webhook-signature']).split(' ').length === 3)
  for (const each of [secret, rotated])
    new Webhook(each).verify(tested()?.body ?? '', tested()?.headers as Record<string, string>)

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete the endpoint' }).click()
  await untilHeading(page, 'Webhooks')
  await page.getByText('No endpoints yet').waitFor()
  // The URL that was refused.
  assert.deepEqual(problems, [`${service.url}/api/account/webhooks: 400`])
})

test('an owner adds an endpoint for Security Event Tokens with an Authorization header, which a new URL removes', {
  ...BROWSER_MATRIX,
  timeout: 600_000,
}, async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const receiver = await startReceiver(t)
  receiver.behaviour = (response) =>
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"err":"invalid_audience"}')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)
  await page.goto(`${service.url}/dashboard/webhooks`)
  await page.getByRole('button', { name: 'Add an endpoint' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  assert.equal(await page.getByLabel('Authorization header').count(), 0)
  await page.getByLabel('Format').selectOption('set')
  await page.getByLabel('Audience').fill('https://soc.example/ssf')
  await page.getByLabel('Authorization header').fill('Bearer hunter2')
  await page.getByRole('checkbox', { name: /^All types/ }).uncheck()
  assert.equal(await page.getByRole('checkbox', { name: 'channel.verified' }).count(), 0)
  await assertFit(page, async () => undefined)
  await page.getByRole('button', { name: 'Add the endpoint' }).click()
  await page.getByText('The endpoint is added.').waitFor()
  await page.getByRole('link', { name: receiver.url }).click()
  await page.getByText('https://soc.example/ssf').waitFor()
  await page.getByText('Stored, not shown').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Rotate secret' }).count(), 0)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('localhost answers with 400 (invalid_audience).').first().waitFor()
  assert.equal(receiver.received[0]?.headers.authorization, 'Bearer hunter2')

  await page.getByRole('button', { name: 'Edit' }).click()
  assert.equal(await page.getByLabel('Format').count(), 0)
  await page.getByLabel('URL').fill(`${receiver.url}/moved`)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Stored, not shown').waitFor({ state: 'hidden' })
  assert.ok(!(await page.content()).includes('hunter2'))
  assert.deepEqual(problems, [])
})
