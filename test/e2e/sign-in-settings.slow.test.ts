import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CLIENT_ID,
  CLIENT_SECRET,
} from '../../packages/server/test/accounts/identity/oidc-server.ts'
import {
  givePasskey,
  hostsOf,
  signInBySso,
  startIdp,
  startSsoWorld,
} from '../../packages/server/test/accounts/organisations/sso/sso-world.ts'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openWithCookie } from '../support/dashboard.ts'
import { createOrganisation } from '../support/organisations.ts'
import { startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const PAGE = '/dashboard/o/acme/account/sign-in'

test(
  'an admin connects an identity provider, changes and disconnects it; mistakes are named',
  BROWSER_MATRIX,
  async (t) => {
    const idp = await startIdp(t)
    const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(idp) })
    const acme = await createOrganisation(service)
    const browser = await openBrowser(t)
    const { page, problems } = await openWithCookie(browser, service, acme.admin.self)
    const provider = page.getByRole('region', { name: 'Identity provider' })
    const connect = page.getByRole('button', { name: 'Connect the identity provider' })
    await assertFit(page, async () => {
      await page.goto(service.url + PAGE)
      await connect.waitFor()
    })
    await page.getByText('Connect the identity provider before you create one.').waitFor()

    await provider.getByLabel('Issuer').fill(idp.url)
    await provider.getByLabel('Client ID').fill(CLIENT_ID)
    await provider.getByRole('button', { name: 'Add a group' }).click()
    await connect.click()
    await page.getByText('Enter the secret, or choose a public client.').waitFor()
    await page.getByText('Enter the id of each group, or remove the row.').waitFor()
    await provider.getByLabel('Client secret').fill(CLIENT_SECRET)
    await provider.getByLabel('Group 1', { exact: true }).fill('leads')
    await provider.getByLabel('Role 1').selectOption('Manager')
    await provider.getByRole('button', { name: 'Add a group' }).click()
    await provider.getByLabel('Group 2', { exact: true }).fill('leads')
    await connect.click()
    await page.getByText('A group is listed twice.').waitFor()
    await provider.getByRole('button', { name: 'Remove group 2' }).click()
    await connect.click()
    await provider
      .getByRole('alert')
      .getByText(/passkey/)
      .waitFor()
    assert.equal(problems.length, 1, 'no emergency admin')

    await givePasskey(service, acme.admin.ownerId)
    await assertFit(page, async () => {
      await page.reload()
      await provider.getByLabel('Issuer').fill(idp.url)
      await provider.getByRole('button', { name: 'Add a group' }).click()
    })
    await provider.getByLabel('Client ID').fill(CLIENT_ID)
    await provider.getByLabel('Client secret').fill(CLIENT_SECRET)
    await provider.getByLabel('Group 1', { exact: true }).fill('leads')
    await provider.getByLabel('Role 1').selectOption('Manager')
    await tabTo(page, /^Connect the identity provider$/)
    await page.keyboard.press('Enter')
    await provider.getByRole('list', { name: 'Checks' }).getByText('Passed:').first().waitFor()
    await provider.getByText(`${service.url}/sign-in/organisation/`).waitFor()
    await provider.getByText(`${service.url}/dashboard/sign-in?organisation=acme`).waitFor()
    await provider.getByText('Stored', { exact: true }).waitFor()
    assert.ok(!(await page.content()).includes(CLIENT_SECRET), 'the secret is not shown')
    await assertFit(page, async () => {
      await page.goto(service.url + PAGE)
      await provider.getByText('leads').waitFor()
    })

    await provider.getByRole('button', { name: 'Change settings' }).click()
    await page.getByText('Leave it empty to keep the stored one.').waitFor()
    await provider.getByLabel('Client ID').fill('another')
    await page.getByText('Another issuer or client is another connection.').waitFor()
    await provider.getByLabel('Client ID').fill(CLIENT_ID)
    await provider.getByLabel('Role 1').selectOption('Viewer')
    await provider.getByRole('button', { name: 'Check and save' }).click()
    await provider.getByText('Viewer').waitFor()
    await provider.getByText('Stored', { exact: true }).waitFor()

    await provider.getByRole('button', { name: 'Disconnect …' }).click()
    await page.getByRole('button', { name: 'Disconnect it' }).click()
    await connect.waitFor()
    assert.equal(problems.length, 1)
  },
)

test('a SCIM token is shown once, and ended', BROWSER_MATRIX, async (t) => {
  const { service, acme } = await startSsoWorld(t)
  const browser = await openBrowser(t)
  const { page, problems } = await openWithCookie(browser, service, acme.admin.self)
  await page.goto(service.url + PAGE)
  await page.getByText('No SCIM tokens').waitFor()
  const create = page.getByRole('button', { name: 'Create a SCIM token' })
  await create.click()
  const fresh = page.getByRole('region', { name: 'Your new SCIM token' })
  const secret = (await fresh.getByText(/svc-scim-/).textContent()) ?? ''
  await fresh.getByText(`${service.url}/scim/v2`).waitFor()
  const users = await fetch(`${service.url}/scim/v2/Users`, {
    headers: { authorization: `Bearer ${secret.replaceAll('\u200b', '')}` },
  })
  assert.equal(users.status, 200)
  await fresh.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('heading', { name: /^Token of/ }).waitFor()
  assert.equal(await page.getByText(/svc-scim-/).count(), 0)

  await create.click()
  await fresh.getByRole('button', { name: 'I have stored it' }).click()
  await page
    .getByRole('heading', { name: /^Token of/ })
    .nth(1)
    .waitFor()
  assert.equal(await create.count(), 0, 'two at most')
  await assertFit(page, async () => {
    await page.reload()
    await page
      .getByRole('heading', { name: /^Token of/ })
      .first()
      .waitFor()
  })
  await page
    .getByRole('button', { name: /^End …/ })
    .first()
    .click()
  await page.getByRole('button', { name: 'End the token' }).click()
  await create.waitFor()
  assert.deepEqual(problems, [])
})

test(
  'a member links their account, and sees nothing that only admins set up',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme, idp } = await startSsoWorld(t)
    const browser = await openBrowser(t)
    const vera = await acme.addMember('vera', 'viewer')
    const { page, problems } = await openWithCookie(browser, service, vera.self)
    // The identity provider answers at once, as one that knows the browser.
    idp.person = { sub: 'vera-at-acme', groups: ['staff'] }
    await page.route(`${idp.url}/authorize**`, (route) => {
      const back = idp.authorize(route.request().url()).href.replaceAll('&', '&amp;')
      const body = `<meta http-equiv="refresh" content="0;url=${back}">`
      return route.fulfill({ contentType: 'text/html', body })
    })
    await assertFit(page, async () => {
      await page.goto(service.url + PAGE)
      await page.getByRole('button', { name: 'Link my account' }).waitFor()
    })
    for (const name of ['Identity provider', 'Offboarding (SCIM)']) {
      assert.equal(await page.getByRole('region', { name }).count(), 0, name)
    }
    await page.getByRole('button', { name: 'Link my account' }).click()
    await page.waitForURL('**/dashboard/account/security?linked=organisation')
    await page.getByText('Your identity at your organisation is linked.').waitFor()
    assert.deepEqual(problems, [])

    // A session that the identity provider started is for this organisation only.
    const { visitor } = await signInBySso({ service, idp }, { sub: 'new', groups: ['staff'] })
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`)[0] as string
    const limited = await openWithCookie(browser, service, { cookie })
    await limited.page.goto(service.url + PAGE)
    await limited.page.getByText('There is nothing to set up here.').waitFor()
    assert.equal(await limited.page.getByRole('button', { name: 'Link my account' }).count(), 0)
    assert.deepEqual(limited.problems, [])
  },
)
