import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendNotification } from '../../packages/server/src/accounts/notifications/notify-owner.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openAsOwner, untilHeading } from '../support/dashboard.ts'
import { only, sendRaw } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { untilTicked } from '../support/until.ts'

const ADDRESS = 'ada@mail.example'

test('an owner verifies an address, reads e-mails and unsubscribes', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)
  const outbox = `${service.url}/development/mail`
  /** Opens the outbox once it has the link, and follows it. */
  const followLink = async (path: string) => {
    const link = page.getByRole('link', { name: path })
    await untilTicked(service, async () => {
      await page.goto(outbox)
      return (await link.count()) > 0
    })
    await link.first().click()
  }
  const openAccount = async () => {
    await page.goto(`${service.url}/dashboard/account/notifications`)
    await page.getByText('Send by e-mail').waitFor()
  }

  await openAccount()
  await page.getByLabel('Add an address').fill(ADDRESS)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await page.getByText('Pending. Open the link in the e-mail.').waitFor()

  await followLink('/email/verify')
  await assertFit(page, () => untilHeading(page, 'Verify your e-mail address'))
  await page.getByRole('button', { name: 'Verify the address' }).click()
  await untilHeading(page, 'Your e-mail address is verified')
  await assertFit(page, openAccount)
  await page.getByText('Verified', { exact: true }).waitFor()

  const details = { provider: 'in-person' }
  const notification = {
    ownerId,
    kind: 'verification_expired',
    subject: 'test',
    details,
  } as const
  await service.operator.db.write((tx) =>
    appendNotification(tx, { ...notification, at: Date.now() }),
  )
  const title = 'Your verification by In person has expired'
  await assertFit(page, async () => {
    await page.goto(`${service.url}/dashboard/notifications`)
    await page.getByRole('heading', { name: title }).waitFor()
  })
  await page.getByRole('button', { name: `Mark as read: ${title}` }).click()
  await page.getByRole('heading', { name: title, exact: true }).waitFor()

  await followLink('/email/unsubscribe')
  await assertFit(page, () => untilHeading(page, 'Stop these e-mails?'))
  await page.getByRole('button', { name: 'Stop these e-mails' }).click()
  await untilHeading(page, 'You are unsubscribed')
  await openAccount()
  const choice = page.getByRole('checkbox', { name: 'An identity verification has expired' })
  assert.equal(await choice.isChecked(), false)
  await assertFit(page, async () => {
    await page.goto(outbox)
    await untilHeading(page, 'Development outbox')
  })
  assert.deepEqual(problems, [])

  assert.equal(await statusFor(service, 'attacker.example'), 404, 'DNS rebinding')
})

test('a deployment that is not on loopback has no development outbox', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://id.example' })
  for (const host of ['id.example', new URL(service.url).host]) {
    assert.equal(await statusFor(service, host), 404, host)
  }
})

/** The status of the outbox for a Host header that no client would send by itself. */
async function statusFor({ url }: TestService, host: string): Promise<number> {
  const request = `GET /development/mail HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
  return only((await sendRaw(url, request)).answers).status
}
