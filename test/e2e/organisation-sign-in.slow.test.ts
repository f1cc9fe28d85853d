import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionState } from '@countersign/protocol'
import type { Page } from 'playwright-core'
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../packages/server/test/accounts/organisations/sso/identity-provider.ts'
import {
  connect,
  givePasskey,
} from '../../packages/server/test/accounts/organisations/sso/sso-world.ts'
import { assertAccessible, openBrowser } from '../support/browser.ts'
import { openAsNewcomer, untilHeading } from '../support/dashboard.ts'
import { createOrganisation } from '../support/organisations.ts'
import { startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const SIGN_IN = 'Sign in with your organisation'

async function logIn(page: Page, sub: string): Promise<void> {
  await untilHeading(page, 'Log in')
  await page.getByLabel('Subject').fill(sub)
  await page.getByRole('button', { name: 'Log in' }).click()
}

/** Forgets the session. A page that is still open would notice, and go to the sign-in page by itself. */
async function leave(page: Page): Promise<void> {
  await page.goto('about:blank')
  await page.context().clearCookies()
}

const sessionIn = (page: Page, organisation: string): Promise<SessionState> =>
  page.evaluate(`fetch('/api/session?organisation=${organisation}').then((each) => each.json())`)

test(
  'members sign in at the identity provider of their organisation, which reaches no other',
  BROWSER_MATRIX,
  async (t) => {
    const idp = await startIdentityProvider(t)
    const rival = await startIdentityProvider(t)
    const hosts = [idp, rival].map(({ issuer }) => new URL(issuer).host)
    const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hosts.join(',') })
    const acme = await createOrganisation(service)
    const evil = await createOrganisation(service, 'evil')
    const connected = async (to: typeof acme, { issuer, callbacks }: IdentityProvider) => {
      await givePasskey(service, to.admin.ownerId)
      const { callbackUrl, checks } = await connect(to, issuer)
      assert.deepEqual(
        checks.filter(({ ok }) => !ok),
        [],
      )
      callbacks.push(callbackUrl)
    }
    await connected(acme, idp)
    await connected(evil, rival)
    const lea = { name: 'Lea Lead', groups: ['leads', 'all'] }
    idp.employees.set('lea', lea)
    idp.employees.set('guest', { name: 'Guest', groups: ['admin'] })
    rival.employees.set('lea', { name: 'Mallory', groups: ['leads'] })
    const { page } = await openAsNewcomer(await openBrowser(t))

    await t.test('by the link of the organisation', async () => {
      await page.goto(`${service.url}/dashboard/sign-in?organisation=acme`)
      await untilHeading(page, 'Sign in')
      await assertAccessible(page)
      await page.getByRole('button', { name: SIGN_IN }).click()
      await logIn(page, 'lea')
      await page.waitForURL(`${service.url}/dashboard/o/acme/agents`)
      const { organisations, person } = await sessionIn(page, 'acme')
      assert.deepEqual(
        organisations.map(({ username, role }) => [username, role]),
        [['acme', 'manager']],
      )
      assert.deepEqual([person?.displayName, person?.limited], ['Lea Lead', true])
    })

    await t.test(
      'with a login each time, although the identity provider has a session',
      async () => {
        await page.goto(`${service.url}/dashboard/sign-in`)
        await page.getByLabel('Name of your organisation').fill(' ACME ')
        await page.getByRole('button', { name: SIGN_IN }).click()
        await logIn(page, 'lea')
        await page.waitForURL(`${service.url}/dashboard/o/acme/agents`)
        assert.equal(idp.logins, 2)
      },
    )

    await t.test('not without a group that has a role', async () => {
      await leave(page)
      await page.goto(`${service.url}/dashboard/sign-in?organisation=acme`)
      await page.getByRole('button', { name: SIGN_IN }).click()
      await logIn(page, 'guest')
      await page
        .getByText('None of your groups at the identity provider gives you a role')
        .waitFor()
      assert.equal(new URL(page.url()).pathname, '/dashboard/sign-in')
    })

    await t.test(
      'an identity provider that asserts the same subject reaches only its own',
      async () => {
        await leave(page)
        await page.goto(`${service.url}/dashboard/sign-in?organisation=evil`)
        await page.getByRole('button', { name: SIGN_IN }).click()
        await logIn(page, 'lea')
        await page.waitForURL(`${service.url}/dashboard/o/evil/agents`)
        const { organisations, person } = await sessionIn(page, 'evil')
        assert.deepEqual(
          organisations.map(({ username }) => username),
          ['evil'],
        )
        assert.equal(person?.displayName, 'Mallory')
        const refused = (await sessionIn(page, 'acme')) as unknown as { error: { code: string } }
        assert.equal(refused.error.code, 'NOT_FOUND')
      },
    )
  },
)
