import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentObject, Card, Lookup } from '@countersign/protocol'
import sharp from 'sharp'
import { newPage, openBrowser } from '../support/browser.ts'
import {
  goTo,
  openAsNewcomer,
  openTab,
  signUp,
  untilHeading,
  verifyWith,
} from '../support/dashboard.ts'
import { startTestService, tempDir } from '../support/service.ts'
import { shellInCheckout } from '../support/shell.ts'
import { BROWSER } from '../support/tools.ts'

async function getJson<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T
}

test('an owner signs up, verifies, claims an agent, edits and revokes it', BROWSER, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page, problems, authenticator } = await openAsNewcomer(browser)
  const certificate = await newPage(browser)

  await t.test('an owner signs up with a passkey', async () => {
    await signUp(page, service.url, 'ada')
    assert.equal(await authenticator.count(), 1)
  })

  await t.test(
    'without a verified identity there is no token, and the page says where to go',
    async () => {
      await goTo(page, 'Claim')
      await page
        .getByRole('main')
        .getByRole('link', { name: 'Verify your identity' })
        .last()
        .click()
      await untilHeading(page, 'Identity')
    },
  )

  await t.test('identity is verified by each of the development providers', async () => {
    for (const level of ['low', 'substantial', 'high']) {
      await verifyWith(page, `Development, ${level} assurance`, 'ada')
    }
  })

  let did = ''
  await t.test(
    'the command that the page shows claims an agent, and the page notices by itself',
    async () => {
      await goTo(page, 'Claim')
      await page.getByRole('button', { name: 'Create claim token' }).click()
      await page.getByRole('timer', { name: 'Time left' }).waitFor()
      const shown = await page.locator('code').filter({ hasText: '.tgz claim' }).innerText()
      const dir = tempDir(t)
      const shell = shellInCheckout(dir, {
        ...service.env,
        PATH: process.env.PATH ?? '',
        HOME: dir,
      })
      t.after(() => shell.close())
      const printed = await shell.run(shown)
      did = /svc:agent:\w{24}/.exec(printed)?.[0] ?? ''
      assert.match(did, /^svc:agent:/)
      await page.getByRole('heading', { name: 'Your agent has its certificate' }).waitFor()
      await page.getByRole('link', { name: 'Open the agent' }).click()
    },
  )

  await t.test('it gets a name, a username, a description and a picture', async () => {
    await openTab(page, 'Profile')
    await page.getByLabel('Display name').fill('Travel assistant')
    await page.getByLabel('Username').fill('travel-assistant')
    await page.getByLabel('Description').fill('Books trains, and nothing else.')
    await page.getByText('31 of 160 characters').first().waitFor()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await untilHeading(page, 'Travel assistant')
    const picture = sharp({
      create: { width: 900, height: 600, channels: 3, background: '#0b5d4b' },
    })
    await page.setInputFiles('input[type=file]', {
      name: 'face.png',
      mimeType: 'image/png',
      buffer: await picture.png().toBuffer(),
    })
    await page.getByRole('button', { name: 'Use this picture' }).click()
    await page.getByRole('button', { name: 'Remove the picture' }).waitFor()
    const card = await getJson<Card>(`${service.url}/api/agents/${did}/card`)
    assert.equal(card.displayName, 'Travel assistant')
    assert.equal(card.description, 'Books trains, and nothing else.')
    assert.equal(card.certificateUrl, `${service.url}/agent/${did}`)
    const served = await fetch(card.avatarUrl)
    const { width, height, format } = await sharp(await served.arrayBuffer()).metadata()
    assert.deepEqual([width, height, format], [512, 512, 'webp'])
  })

  await t.test('anyone sees on its certificate who stands behind it', async () => {
    await certificate.page.goto(`${service.url}/agent/travel-assistant#key`)
    await certificate.page.getByRole('heading', { name: /Travel assistant/ }).waitFor()
    assert.equal(new URL(certificate.page.url()).pathname, `/agent/${did}`)
    const text = await certificate.page.locator('body').innerText()
    for (const each of ['Ada Lovelace', 'Development only', did, 'Books trains']) {
      assert.ok(text.includes(each), `${each} in\n${text}`)
    }
  })

  await t.test('it is suspended and reactivated, with a reason', async () => {
    await openTab(page, 'Danger zone')
    await page.getByRole('button', { name: 'Suspend …' }).click()
    await page.getByLabel('Reason').selectOption({ index: 1 })
    await page.getByRole('button', { name: 'Suspend agent' }).click()
    await page.getByRole('button', { name: 'Reactivate …' }).waitFor()
    assert.equal((await getJson<Lookup>(`${service.url}/api/v1/agent/${did}`)).verified, false)
    await page.getByRole('button', { name: 'Reactivate …' }).click()
    await page.getByRole('button', { name: 'Reactivate agent' }).click()
    await page.getByRole('button', { name: 'Suspend …' }).waitFor()
    assert.equal((await getJson<Lookup>(`${service.url}/api/v1/agent/${did}`)).verified, true)
  })

  await t.test('it is revoked, for good, after the page has said what that does', async () => {
    await page.getByRole('button', { name: 'Revoke …' }).click()
    await page.getByText(/Revocation is permanent\. The same/).waitFor()
    await page.getByLabel('Reason').selectOption('key_compromised')
    await page.getByRole('button', { name: 'Revoke agent' }).click()
    await page.getByText(/^Revoked by you/).waitFor()
    const { status, statusReason } = await getJson<AgentObject>(`${service.url}/api/agents/${did}`)
    assert.deepEqual([status, statusReason], ['revoked', 'key_compromised'])
    await certificate.page.goto(`${service.url}/agent/${did}`)
    assert.match(await certificate.page.title(), /^Revoked/i)
    await goTo(page, 'Agents')
    await page
      .getByRole('link', { name: /Travel assistant/ })
      .first()
      .waitFor()
  })

  assert.deepEqual(problems, [])
  assert.deepEqual(certificate.problems, [])
})
