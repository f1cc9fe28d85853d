import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { openAsNewcomer } from '../support/dashboard.ts'
import { startTestService, tempDir } from '../support/service.ts'
import { shellInCheckout } from '../support/shell.ts'
import { BROWSER } from '../support/tools.ts'

const MOST_CLICKS = 9

test('9 clicks and one command lead to the page of a named agent', BROWSER, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page, problems } = await openAsNewcomer(browser)
  const clicks: string[] = []
  await page.exposeBinding('countClick', (_source, what: string) => clicks.push(what))
  await page.addInitScript(
    `addEventListener('pointerdown', ({ target }) => countClick(target.closest('a, button, label')?.innerText ?? target.tagName), true)`,
  )

  await page.goto(service.url)
  const signUpLinks = page.locator('a[href="/dashboard/sign-up"]')
  const isDirect = (await signUpLinks.count()) > 0
  if (!isDirect) await page.locator('a[href^="/dashboard"]').first().click()
  await signUpLinks.first().click()
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByLabel('Username').fill('ada')
  await page.getByRole('button', { name: 'Create account with a passkey' }).click()
  await page.getByRole('button', { name: /I saved the codes/ }).click()
  await page.getByRole('button', { name: 'Verify with Development, high assurance' }).click()
  await page.getByLabel('Who are you?').fill('ada')
  await page.getByRole('button', { name: 'Continue as this person' }).click()
  await page.getByRole('link', { name: 'Create claim token' }).click()
  await page.getByRole('button', { name: 'Copy: Command for countersign' }).click()

  const shown = await page.locator('code').filter({ hasText: '.tgz claim' }).innerText()
  assert.equal(shown.replaceAll('\\\n', '').split('\n').length, 1, 'one command')
  const dir = tempDir(t)
  const shell = shellInCheckout(dir, { ...service.env, PATH: process.env.PATH ?? '', HOME: dir })
  t.after(() => shell.close())
  const did = /svc:agent:\w{24}/.exec(await shell.run(shown))?.[0]

  await page.getByLabel('Display name').fill('Travel assistant')
  await page.getByRole('button', { name: 'Save name' }).click()
  await page.getByText('Name saved.').waitFor()
  await page.getByRole('link', { name: 'Open the certificate' }).click()
  await page.waitForURL(`**/agent/${did}`)
  await page.getByText('Travel assistant').first().waitFor()
  await page.goBack()
  // One more while the start page leads to the sign-in page only.
  const most = MOST_CLICKS + (isDirect ? 0 : 1)
  assert.ok(clicks.length <= most, `${clicks.length} clicks: ${clicks.join(' → ')}`)
  // What is left is listed on every page.
  await page.getByRole('complementary', { name: 'First steps' }).getByText('3 of 5 done').waitFor()
  assert.deepEqual(problems, [])
})
