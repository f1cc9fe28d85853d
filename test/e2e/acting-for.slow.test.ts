import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Role } from '@countersign/protocol'
import type { Page } from 'playwright-core'
import { isPersonal } from '../../packages/dashboard/src/api/personal-paths.ts'
import { endMembership } from '../../packages/server/src/accounts/organisations/end-membership.ts'
import { openBrowser, tabTo } from '../support/browser.ts'
import {
  openAsNewcomer,
  openAsOwner,
  openWithCookie,
  signOut,
  signUp,
  untilFocused,
  untilHeading,
} from '../support/dashboard.ts'
import { createOrganisation, type TestOrganisation } from '../support/organisations.ts'
import { type Cleanup, claimAgent, startTestService, type TestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

interface Scene {
  readonly service: TestService
  readonly acme: TestOrganisation
  readonly did: string
}

/** A verified organisation with an agent. */
async function scene(t: Cleanup): Promise<Scene> {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  return { service, acme, did: await claimAgent(service, acme.id, undefined, 'of-acme') }
}

/** The entries of the owner's menu. */
async function openMenu(page: Page, name: string) {
  const button = page.getByRole('button', { name, exact: true })
  await button.click()
  return page.locator(`[id="${await button.getAttribute('aria-controls')}"]`)
}

const strip = (page: Page) => page.getByRole('region', { name: 'Acting for' })

test(
  'who acts for nobody else has one more entry in the menu, and no other difference',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('ada')
    const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${service.url}/dashboard/agents`)
    const menu = await openMenu(page, 'Owner ada')
    assert.deepEqual(await menu.getByRole('link').allInnerTexts(), [
      'Account',
      'Create organisation',
    ])
    const nav = page.getByRole('navigation', { name: 'Dashboard' })
    assert.deepEqual(await nav.getByRole('link').allInnerTexts(), [
      'Agents',
      'Claim',
      'Approvals',
      'Identity',
      'Activity',
      'Account',
    ])
    assert.equal(await strip(page).count(), 0)
    assert.deepEqual(
      asked.filter((url) => /organisation=|\/members/.test(url)),
      [],
    )
    await page.goto(`${service.url}/dashboard/members`)
    await untilHeading(page, 'Page not found')
    assert.deepEqual(problems, [])
  },
)

test(
  'the keyboard switches to an organisation and back, and each page names it',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme } = await scene(t)
    await claimAgent(service, acme.admin.ownerId, undefined, 'of-ada')
    const { page, problems } = await openWithCookie(await openBrowser(t), service, acme.admin.self)
    await page.goto(`${service.url}/dashboard/agents`)
    await page.getByRole('link', { name: 'of-ada' }).waitFor()

    await tabTo(page, /^O?Owner acme-admin$/)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await untilFocused(page, /Owner acme-admin$/)
    await page.keyboard.press('Enter')
    await tabTo(page, /^Acme@acme · Admin$/)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dashboard/o/acme/agents')
    await strip(page).getByText('Acting for Acme @acme · Admin').waitFor()
    await page.getByRole('link', { name: 'of-acme' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'of-ada' }).count(), 0)
    assert.match(await page.title(), /^Agents · @acme · /)

    const menu = await openMenu(page, 'Acme')
    const current = menu.getByRole('link', { name: 'Acme @acme · Admin' })
    assert.equal(await current.getAttribute('aria-current'), 'true')
    await menu.getByText('Signed in as @acme-admin').waitFor()
    await tabTo(page, /^Owner acme-adminYour own account$/)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dashboard/agents')
    await page.getByRole('link', { name: 'of-ada' }).waitFor()
    assert.equal(await strip(page).count(), 0)
    assert.deepEqual(problems, [])
  },
)

test(
  'requests of a page are for its organisation, and those about the person are not',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme, did } = await scene(t)
    const { page, problems } = await openWithCookie(await openBrowser(t), service, acme.admin.self)
    const asked: URL[] = []
    page.on('request', (request) => {
      const url = new URL(request.url())
      const isByScript = ['fetch', 'eventsource'].includes(request.resourceType())
      if (isByScript && url.pathname.startsWith('/api/')) asked.push(url)
    })
    for (const path of [
      'agents',
      `agents/${did}`,
      'claim',
      'identity',
      'members',
      'activity',
      'account',
    ]) {
      await page.goto(`${service.url}/dashboard/o/acme/${path}`)
      await untilHeading(page, /./)
      await strip(page).getByText('@acme').waitFor()
    }
    assert.ok(asked.length > 15, `${asked.length} requests`)
    assert.ok(asked.some(({ pathname }) => pathname === '/api/account/stream'))
    for (const { pathname, searchParams } of asked) {
      const named = searchParams.get('organisation')
      assert.equal(named, isPersonal(pathname) ? null : 'acme', pathname)
    }
    assert.deepEqual(problems, [])
  },
)

/** Buttons and links on the pages of an organisation, each with the least role that sees it. */
const CONTROLS: readonly (readonly [path: string, name: RegExp, least: Role])[] = [
  ['agents', /^Claim$/, 'manager'],
  ['agents', /^Claim an agent$/, 'manager'],
  ['agents', /^Revoke all agents …$/, 'admin'],
  ['agents/DID', /^Choose a member$/, 'manager'],
  ['agents/DID', /^Change status$/, 'responder'],
  ['agents/DID', /^Profile$/, 'manager'],
  ['agents/DID', /^Reports$/, 'responder'],
  ['agents/DID', /^Danger zone$/, 'responder'],
  ['agents/DID', /^Add a channel$/, 'manager'],
  ['agents/DID/channels', /^Add a channel$/, 'manager'],
  ['agents/DID/keys', /^Report as stolen …: key 1$/, 'responder'],
  ['agents/DID/keys', /^Recover the lost key …$/, 'manager'],
  ['agents/DID/delegation', /^Save$/, 'manager'],
  ['identity', /^Verify with Development, organisation$/, 'admin'],
  ['identity', /^Remove the verification by In person$/, 'admin'],
  ['identity', /^Set the domain$/, 'admin'],
  ['transfers', /^Offer agents$/, 'admin'],
  ['agents/DID/danger', /^Transfer …$/, 'admin'],
  ['grant-issuers', /^Create a grant issuer$/, 'manager'],
  ['enrolment', /^Create a rule$/, 'manager'],
  ['account', /^Save profile$/, 'admin'],
  ['account', /^Save settings$/, 'admin'],
  ['account/sign-in', /^Link my account$/, 'viewer'],
  ['account/sign-in', /^Connect the identity provider$/, 'admin'],
  ['account', /^Developers$/, 'manager'],
  ['account', /^Data$/, 'admin'],
]

test('what the role does not allow is not shown', BROWSER_MATRIX, async (t) => {
  const { service, acme, did } = await scene(t)
  const browser = await openBrowser(t)
  const order: readonly Role[] = ['viewer', 'responder', 'manager', 'admin']
  for (const role of order) {
    await t.test(role, async () => {
      const member = await acme.addMember(`a-${role}`, role)
      const { page, problems } = await openWithCookie(browser, service, member.self)
      for (const [path, name, least] of CONTROLS) {
        const url = `${service.url}/dashboard/o/acme/${path.replace('DID', did)}`
        if (page.url() !== url) await page.goto(url)
        await untilHeading(page, /./)
        await page.waitForLoadState('networkidle')
        await page.evaluate(
          "for (const each of document.querySelectorAll('details')) each.open = true",
        )
        const shown = page
          .getByRole('button', { name })
          .or(page.locator('header, main').getByRole('link', { name }))
        const isAllowed = order.indexOf(role) >= order.indexOf(least)
        assert.equal((await shown.count()) > 0, isAllowed, `${name} at ${path} for ${role}`)
      }
      assert.deepEqual(problems, [])
    })
  }
})

test(
  'a page that the role does not allow is not found, and a tab leads to the first one',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme, did } = await scene(t)
    const viewer = await acme.addMember('grace', 'viewer')
    const { page, problems } = await openWithCookie(await openBrowser(t), service, viewer.self)
    for (const path of ['claim', 'webhooks', `agents/${did}/channels/new`]) {
      await page.goto(`${service.url}/dashboard/o/acme/${path}`)
      await untilHeading(page, 'Page not found')
      await strip(page).getByText('Viewer').waitFor()
    }
    for (const [tab, first] of [
      ['account/data', 'account'],
      ['account/developers', 'account'],
      [`agents/${did}/danger`, `agents/${did}`],
      ['members/invitations', 'members'],
    ] as const) {
      await page.goto(`${service.url}/dashboard/o/acme/${tab}`)
      await page.waitForURL(`${service.url}/dashboard/o/acme/${first}`)
    }
    // Only the person has sign-in methods.
    await page.goto(`${service.url}/dashboard/o/acme/account/security`)
    await page.waitForURL(`${service.url}/dashboard/account/security`)
    await page.getByRole('heading', { name: 'Passkeys' }).waitFor()
    assert.deepEqual(problems, [])
  },
)

test('who is no member of an organisation, or no more, is told so', BROWSER_MATRIX, async (t) => {
  const { service, acme } = await scene(t)
  const grace = await acme.addMember('grace', 'viewer')
  const { page } = await openWithCookie(await openBrowser(t), service, grace.self)
  await page.goto(`${service.url}/dashboard/o/nobody/agents`)
  await untilHeading(page, 'You do not act for @nobody')
  await page.goto(`${service.url}/dashboard/o/acme/agents`)
  await untilHeading(page, 'Agents')
  await service.operator.db.write((tx) =>
    endMembership(tx, grace.membership, 'removed', Date.now()),
  )
  // The end of the stream may tell the page first, which then has no such link.
  const link = page.getByRole('link', { name: 'Activity', exact: true })
  await link.click({ timeout: 2000 }).catch(() => undefined)
  await untilHeading(page, 'You do not act for @acme')
  await page.getByRole('link', { name: 'Continue with your own account' }).click()
  await page.waitForURL('**/dashboard/agents')
  await untilHeading(page, 'Agents')
})

test(
  'after signing in, the page of the organisation is shown that was asked for',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme } = await scene(t)
    const { page, problems } = await openAsNewcomer(await openBrowser(t))
    await signUp(page, service.url, 'ada')
    const person = await service.operator.db.read
      .selectFrom('owners')
      .select('id')
      .where('username', '=', 'ada')
      .executeTakeFirstOrThrow()
    await acme.join(person.id, 'viewer')
    await signOut(page, 'Ada Lovelace')
    await page.goto(`${service.url}/dashboard/o/acme/members`)
    await untilHeading(page, 'Sign in')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(`${service.url}/dashboard/o/acme/members`)
    await strip(page).getByText('Viewer').waitFor()
    assert.deepEqual(problems, [])
  },
)
