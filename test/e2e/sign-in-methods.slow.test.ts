import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { openAsNewcomer, signOut, signUp, untilHeading } from '../support/dashboard.ts'
import { countersignd, startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('an owner signs in by passkey, recovery code and sign-in link', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page, problems, authenticator } = await openAsNewcomer(browser)
  const codes = await signUp(page, service.url, 'ada')

  await t.test('by passkey', async () => {
    await signOut(page, 'Ada Lovelace')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await untilHeading(page, 'Agents')
  })

  await t.test('to the page that was asked for', async () => {
    await signOut(page, 'Ada Lovelace')
    await page.goto(`${service.url}/dashboard/account`)
    await untilHeading(page, 'Sign in')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await untilHeading(page, 'Account')
  })

  await t.test('never to a page elsewhere', async () => {
    await signOut(page, 'Ada Lovelace')
    await page.goto(`${service.url}/dashboard/sign-in?next=//evil.example/`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await untilHeading(page, 'Agents')
    assert.equal(new URL(page.url()).origin, service.url)
  })

  await t.test('by a recovery code, after the phone is lost', async () => {
    await signOut(page, 'Ada Lovelace')
    await authenticator.lose()
    await page.getByLabel('Username').fill('ada')
    await page
      .getByRole('textbox', { name: 'Recovery code' })
      .fill((codes[0] as string).toLowerCase())
    await page.getByRole('button', { name: 'Sign in with recovery code' }).click()
    await untilHeading(page, 'Agents')
    const prompt = page.getByRole('complementary', { name: 'Your sign-in' })
    await prompt.getByText('9 recovery codes are left.').waitFor()
    await prompt.getByRole('link', { name: 'Add a passkey' }).click()
    await untilHeading(page, 'Account')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('button', { name: 'Create passkey' }).click()
    await page.getByText('Passkey added.').waitFor()
    await prompt.waitFor({ state: 'detached' })
  })

  await t.test(
    'by the link that the host prints, which leaves no trace in the address',
    async () => {
      await signOut(page, 'Ada Lovelace')
      const { stdout } = await countersignd(service.env, 'owner', 'sign-in-link', 'ada')
      await page.goto('about:blank')
      await page.goto(stdout.trim())
      await page.getByRole('button', { name: 'Sign in with this link' }).waitFor()
      assert.equal(new URL(page.url()).hash, '')
      await page.getByRole('button', { name: 'Sign in with this link' }).click()
      await untilHeading(page, 'Agents')
    },
  )

  assert.deepEqual(problems, [])
})

test('a wrong recovery code gets a message and the request id', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const { page } = await openAsNewcomer(await openBrowser(t))
  await page.goto(`${service.url}/dashboard/sign-in`)
  await page.getByLabel('Username').fill('ada')
  await page.getByRole('textbox', { name: 'Recovery code' }).fill('0000-0000-0000-0000')
  await page.getByRole('button', { name: 'Sign in with recovery code' }).click()
  await page.getByText('This recovery code is wrong or was used.').waitFor()
  await page.getByText(/req_[0-9a-z]+/).waitFor()
})
